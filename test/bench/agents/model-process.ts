// A forked process with a model: `node model-process.ts ROUNDS`. The model calls the tool `count` in each of ROUNDS
// rounds and then answers "Done." in two chunks. Its API is that of OpenAI's chat completions. The process sends the
// base URL of the API to its parent.
import { startModelServer } from '../../support/model-server.ts';

const rounds = Number(process.argv[2]);
const server = await startModelServer(({ body }) => {
  server.requests.length = 0;
  const round = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'tool').length;
  return round < rounds
    ? { toolCalls: [{ name: 'count', args: { n: round + 1 }, id: `call_${round}` }] }
    : { chunks: ['Do', 'ne.'] };
});
process.on('disconnect', () => process.exit());
process.send?.(server.services.local);
