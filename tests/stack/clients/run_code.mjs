// Runs cells with the real E2B code-interpreter SDK in debug mode (it talks to localhost), one JSON line for each.
//
//   run_code.mjs CELL...            all in one sandbox object, one after the other
//   run_code.mjs --envs JSON CELL...   the first one with variables of its own
//   run_code.mjs --in-new CELL...      all in one new context
//   run_code.mjs --contexts         makes a context, proves that it is apart from the default one, removes it
import { Sandbox } from '@e2b/code-interpreter'

const say = (value) => console.log(JSON.stringify(value))
const sandbox = await Sandbox.create({ debug: true })

async function cells(codes, envs, context) {
  for (const [i, code] of codes.entries()) {
    const got = await sandbox.runCode(code, { context, envs: i ? undefined : envs, timeoutMs: 30000, requestTimeoutMs: 30000 })
    say({ text: got.text ?? null, stdout: got.logs.stdout.join(''), stderr: got.logs.stderr.join(''),
      error: got.error ? { name: got.error.name, value: got.error.value } : null, count: got.executionCount ?? null })
  }
}

async function contexts() {
  await sandbox.runCode('where = "default"')
  const other = await sandbox.createCodeContext({ language: 'python' })
  const apart = await sandbox.runCode('"where" in globals()', { context: other })
  const listed = (await sandbox.listCodeContexts()).map((c) => c.id)
  await sandbox.removeCodeContext(other)
  const after = (await sandbox.listCodeContexts()).map((c) => c.id)
  say({ apart: apart.text, listed: listed.includes(other.id), after: after.includes(other.id), left: after.length })
}

const args = process.argv.slice(2)
if (args[0] === '--contexts') await contexts()
else if (args[0] === '--envs') await cells(args.slice(2), JSON.parse(args[1]))
else if (args[0] === '--in-new') await cells(args.slice(1), undefined, await sandbox.createCodeContext({ language: 'python' }))
else await cells(args)
process.exit(0)
