import { describe, expect, it } from 'vitest';
import { bindCode } from './bind.ts';
import { compileCode } from './code.ts';
import type { Lookup } from './lookup.ts';
import { buildNames, type NamedBlock } from './names.ts';

const block = (id: string, name = id): NamedBlock => ({ id, name, type: 'function', enabled: true });
const names = buildNames([block('p'), block('my', 'My Block')], []);
const compile = (code: string) =>
  compileCode(code, 'shell', { names, blockId: 'p', fieldPosition: 'ordinary' });

const lookup: Lookup = {
  block: () => ({ ran: true, output: { x: "it's $(id)" } }),
  container: () => undefined,
  results: () => undefined,
  variable: () => undefined,
  env: (name) => (name === 'K' ? 'secret' : undefined),
  describe: () => ({ name: 'P', type: 'function' }),
};

const codeOf = (authored: string): string =>
  compile(authored).code.code.replaceAll(/__heddle_(\d+)_/g, '@$1');

describe('a reference in a script', () => {
  it.each([
    ['echo <p.x>', 'echo "${@0}"'],
    ['echo a<p.x>b', 'echo a"${@0}"b'],
    ['echo "a <p.x> b"', 'echo "a ${@0} b"'],
    ["echo 'a <p.x> b'", `echo 'a '"\${@0}"' b'`],
    ['echo "$(cat <p.x>) \\"<My Block.x>"', 'echo "$(cat "${@0}") \\"${@1}"'],
    ['curl -H "Authorization: {{K}}" <p.x>', 'curl -H "Authorization: ${@0}" "${@1}"'],
    ["f='<p.x>'; g=<p.x>", `f=''"\${@0}"''; g="\${@1}"`],
    ['cat <<EOF\n<p.x> "q" \'r\'\nEOF\necho <p.x>', 'cat <<EOF\n${@0} "q" \'r\'\nEOF\necho "${@1}"'],
    ["cat <<'EOF'\n<p.x>\nEOF\necho <p.x>", `cat <<'EOF'\n<p.x>\nEOF\necho "\${@0}"`],
    ['cat <<-E\n\t<p.x>\n\tE\necho <p.x>', 'cat <<-E\n\t${@0}\n\tE\necho "${@1}"'],
    ['cat <<< <p.x>', 'cat <<< "${@0}"'],
  ])('%s becomes a variable, quoted for its context (V43)', (authored, expected) => {
    expect(codeOf(authored)).toBe(expected);
  });

  it.each([
    '# <p.x>',
    'echo a # {{K}} "',
    'sort < in > out',
    'echo a#b <nosuch.x>',
    'echo \\<p.x>',
    "echo '<p.x>",
  ])('%s is not a reference and stays', (authored) => {
    expect(codeOf(authored)).toBe(authored);
  });

  it('never puts its value into the script itself (V44)', () => {
    const boundCode = bindCode(compile('echo <p.x> "<p.x>" {{K}} {{NOPE}}').code, lookup);
    expect(boundCode.code).not.toContain('$(id)');
    expect(Object.values(boundCode.values).map((text) => JSON.parse(text) as unknown)).toEqual([
      "it's $(id)",
      "it's $(id)",
      'secret',
      '{{NOPE}}',
    ]);
  });
});
