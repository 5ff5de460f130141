// Creates a sandbox with MCP servers by the real E2B SDK, then connects to it as somebody else would; one line of JSON.
//
//   create_mcp.mjs MCP-AS-JSON      E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY say where
import { Sandbox } from 'e2b'

const say = (value) => console.log(JSON.stringify(value))
try {
  const sandbox = await Sandbox.create({ mcp: JSON.parse(process.argv[2]) })
  const other = await Sandbox.connect(sandbox.sandboxId)
  say({ id: sandbox.sandboxId, token: await sandbox.getMcpToken(), url: sandbox.getMcpUrl(), later: await other.getMcpToken() })
} catch (error) {
  say({ error: error.message, name: error.name })
}
process.exit(0)
