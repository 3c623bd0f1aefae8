// A model in a separate process: `node model-process.ts ROUNDS`, forked. It calls the tool `count` in each of ROUNDS rounds and
// then answers "Done." in two chunks. It sends its address to the parent. Its interface is OpenAI's chat completions.
import { startModelServer } from '../../support/model-server.ts';

const rounds = Number(process.argv[2]);
const server = await startModelServer(({ body }) => {
  server.requests.length = 0;
  const done = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'tool').length;
  return done < rounds
    ? { tools: [{ name: 'count', args: { n: done + 1 }, id: `call_${done}` }] }
    : { pieces: ['Do', 'ne.'] };
});
process.on('disconnect', () => process.exit());
process.send?.(server.services.local);
