// A stdio MCP server of the official SDK: `node mcp-stdio.ts FILE`. The server appends its process id to FILE.
import { appendFileSync } from 'node:fs';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const [, , file = '', ...args] = process.argv;
appendFileSync(file, `${process.pid}\n`);
const server = new McpServer({ name: 'process', version: '1.0.0' });
const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
server.registerTool(
  'process_info',
  { description: 'Returns the arguments, environment and folder of the process.', inputSchema },
  () => {
    const details = { args, env: Object.keys(process.env).toSorted(), cwd: process.cwd() };
    return { content: [{ type: 'text', text: JSON.stringify(details) }] };
  },
);
await server.connect(new StdioServerTransport());
