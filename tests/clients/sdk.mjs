// The official TypeScript client at work: node sdk.mjs ADDRESS CREDENTIAL SESSION prints which tools each address lists and what
// each tool gave.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [address, credential, session_id] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' });
const headers = { Authorization: `Bearer ${credential}` };
const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } });
await client.connect(transport);
const { tools } = await client.listTools();
const listed = async (path, more) => {
  const other = new Client({ name: 'test', version: '1' });
  const options = { requestInit: { headers: { ...headers, ...more } } };
  await other.connect(new StreamableHTTPClientTransport(new URL(path, address), options));
  const names = (await other.listTools()).tools.map((tool) => tool.name);
  await other.close();
  return names;
};
const all = await listed('/mcp/x/all', {});
const asked = await listed('/mcp', { 'X-MCP-Toolsets': 'all' });
await client.ping();
const told = {};
const call = async (name, more = {}) => {
  const result = await client.callTool({ name, arguments: { session_id, ...more } });
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result)}`);
  told[name] = result.content[0].text ?? result.content[0].data;
  return told[name];
};
const kind = JSON.stringify([{ type: 'Node', filter_dict: { kind: 'x' } }]);
told.list_sessions = (await client.callTool({ name: 'list_sessions', arguments: {} })).content[0].text;
await call('get_session_info');
await call('query_graph', { gfql_operations: kind });
await call('get_picture', { width: 300, height: 200 });
await call('reset_collections');
const made = JSON.parse(await call('create_collection', { name: 'sdk', gfql_operations: kind }));
const collection_id = made.collection.id;
await call('list_collections');
await call('update_collection', { collection_id, name: 'renamed' });
await call('reorder_collections', { order: [collection_id] });
await call('delete_collection', { collection_id });
let refused = null;
try {
  await client.callTool({ name: 'get_session_info', arguments: { session_id: 'absent' } });
} catch (error) {
  refused = String(error);
}
await transport.terminateSession();
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), all, asked, told, refused }));
