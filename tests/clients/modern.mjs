// The official TypeScript client of the second generation: node modern.mjs ADDRESS CREDENTIAL SESSION MODE, with MODE auto,
// legacy or a revision, prints what it found.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [address, credential, session_id, mode] = process.argv.slice(2);
const negotiated = ['auto', 'legacy'].includes(mode) ? mode : { pin: mode };
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: negotiated } });
const headers = { Authorization: `Bearer ${credential}` };
const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } });
await client.connect(transport);
const { tools } = await client.listTools();
const { resources } = await client.listResources();
const read = await client.readResource({ uri: resources[0].uri });
const info = await client.callTool({ name: 'get_session_info', arguments: { session_id } });
let refused = null;
try {
  await client.callTool({ name: 'get_session_info', arguments: { session_id: 'absent' } });
} catch (error) {
  refused = String(error);
}
// Closing forgets both.
const version = client.getNegotiatedProtocolVersion();
const server = client.getServerVersion();
await client.close();
console.log(
  JSON.stringify({
    version,
    server,
    tools: tools.map((tool) => tool.name),
    resource: JSON.parse(read.contents[0].text),
    info: info.content[0].text,
    refused,
  }),
);
