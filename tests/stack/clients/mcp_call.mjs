// Lists the tools of an MCP server and calls one, with the real MCP SDK; one JSON line.
//
//   mcp_call.mjs URL TOOL ARGUMENTS-AS-JSON
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const [url, tool, args] = process.argv.slice(2)
const client = new Client({ name: 'reeve-tests', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
const { tools } = await client.listTools()
const answer = await client.callTool({ name: tool, arguments: JSON.parse(args) })
console.log(JSON.stringify({ tools: tools.map((t) => t.name), answer: answer.content }))
await client.close()
process.exit(0)
