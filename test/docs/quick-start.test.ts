import { rmSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { startHeddle } from '../support/heddle.ts';
import { fencesOf, readPage } from './markdown.ts';
import { folderOf, shell } from './shell.ts';

const PAGE = 'README.md';

/** The text of the README's first fence that has this command. */
function fenceWith(command: string): string {
  const found = fencesOf(PAGE, readPage(PAGE)).find(({ text }) => text.includes(command));
  if (!found) throw new Error(`The README has no command ${command}.`);
  return found.text;
}

it('the quick start ends at an address that answers', { timeout: 120_000 }, async () => {
  const folder = folderOf(PAGE);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  expect(fenceWith('npx heddle serve').trim()).toBe('npx heddle serve');
  const server = startHeddle(['serve', '--port', '0', '--grace', '1'], { cwd: folder });
  await server.until('Ctrl-C ends it.');
  const exported = await server.lineWith('export ');
  const ran = await shell(`${exported}\n${fenceWith('npx heddle deploy')}`, folder);
  expect({ exit: ran.exit, stderr: ran.stderr }).toMatchObject({ exit: 0 });
  const [curl = ''] = /curl (?:.|\\\n)+/.exec(ran.stdout) ?? [];
  const answer = await shell(`${exported}\n${curl}`, folder);
  expect(JSON.parse(answer.stdout)).toMatchObject({ data: { status: 'completed' } });
});
