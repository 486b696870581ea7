// The official TypeScript client reads the id of every node, and asks for each by what it read, as a text:
// node ids.mjs ADDRESS CREDENTIAL SESSION prints what was read and what was found.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [address, credential, session_id] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' });
const headers = { Authorization: `Bearer ${credential}` };
await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }));
const ask = async (gfql_operations) => {
  const asked = { session_id, gfql_operations, output_type: 'nodes' };
  const result = await client.callTool({ name: 'query_graph', arguments: asked });
  const told = JSON.parse(result.content[0].text);
  if (told.error) throw new Error(told.error);
  return (told.rows ?? told.nodes).map((row) => row.id);
};
const read = await ask('MATCH (n) RETURN n.id AS id');
const steps = [];
const cypher = [];
for (const id of read) {
  steps.push(await ask([{ type: 'Node', filter_dict: { id: String(id) } }]));
  cypher.push(await ask(`MATCH (n) WHERE n.id = '${id}' RETURN n.id AS id`));
}
await client.close();
console.log(JSON.stringify({ read, steps, cypher }));
