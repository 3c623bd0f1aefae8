import { createEngine, type Engine } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setUpNativeImages } from '../support/native-images.ts';
import { block, fn, workflow, type TestBlock } from '../support/workflow.ts';
import { HOSTILE_STRINGS } from './hostile-strings.ts';
import { watchHost } from './watch.ts';

watchHost();
const nativeImages = await setUpNativeImages();
afterAll(() => nativeImages.close());

/** Strings that a shell would run, expand or treat as the end of a here-document. */
const HOSTILE_SHELL_STRINGS = [
  '$(touch /tmp/owned)',
  '`touch /tmp/owned`',
  '; touch /tmp/owned;',
  "'; touch /tmp/owned; '",
  '*',
  '-n',
  '$HOME ${HOME} !!',
  'END\ntouch /tmp/owned',
];

/** A script that uses the value in every position. The function `f` prints the arguments that it gets. */
const SCRIPT = `f() { jq -n -c '$ARGS.positional' --args -- "$@"; }
x=<start.text>
y="in <start.text> double"
z='in <start.text> single'
d=$(cat <<END
<start.text>
END
)
ls /tmp/owned 2>/dev/null
echo "__HEDDLE_RESULT__=$(f "$x" <start.text> "<start.text>" '<start.text>' "$y" "$z" "$d" "$(printf '%s.' <start.text>)")" # <start.text>`;

describe.skipIf(nativeImages.python === undefined)('scripts in a native image', { timeout: 120_000 }, () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await createEngine({
      ...(nativeImages.images && { images: nativeImages.images }),
      sandbox: { isolation: nativeImages.isolation },
      env: { K: { value: 'of the environment', secret: false } },
    });
    // Opens the image and starts the sandbox first, so that this time is not counted as lag of an attack.
    await run([fn('A', 'return 1'), sh('S', 'true')], ['Start -> A -> S']);
  }, 120_000);
  afterAll(() => engine.close());

  const sh = (name: string, code: string, fields: { [name: string]: Json } = {}): TestBlock =>
    block(name, 'function', { code, language: 'shell', sandboxId: nativeImages.python as string, ...fields });
  const run = (blocks: TestBlock[], edges: string[], input: Json = {}) =>
    engine.execute({ workflow: workflow(blocks, edges) }, input);

  it('read values of blocks and of the environment, call programs of their image, and return results', async () => {
    const code = `echo said
printf '%s' <a.result> | jq -c '{n: .n, k: env.K, text: "{{K}}"}' > out.json
echo "__HEDDLE_RESULT__=$(cat out.json)"`;
    const result = await run(
      [
        fn('A', 'return { n: [1, "two"] }'),
        sh('S', code),
        fn('Z', 'return [<s.result.n[1]>, <s.result.k>, <s.result.text>, <s.stdout>]'),
      ],
      ['Start -> A -> S -> Z'],
    );
    expect(result).toMatchObject({
      status: 'completed',
      output: { result: ['two', 'of the environment', 'of the environment', 'said'] },
    });
  });

  it('fail their block if they exit with an error code or exceed its timeout', async () => {
    const handledResult = await run(
      [sh('S', 'echo why >&2; exit 7'), fn('H', 'return <s.error>')],
      ['Start -> S', 'S:error -> H'],
    );
    expect(handledResult).toMatchObject({
      status: 'completed',
      output: { result: expect.stringContaining('exit code 7: why') as string },
    });
    expect(await run([sh('S', 'sleep 60', { timeout: 500 })], ['Start -> S'])).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCK_TIMEOUT' },
    });
  });

  it('leave no files for the next script', async () => {
    const leaveFilesCode = 'ls -A /tmp /work | grep -c left; touch /tmp/left left';
    const result = await run(
      [sh('A', leaveFilesCode), sh('B', leaveFilesCode), fn('Z', 'return [<a.stdout>, <b.stdout>]')],
      ['Start -> A -> B -> Z'],
    );
    expect(result).toMatchObject({ output: { result: ['0', '0'] } });
  });

  // Variables cannot hold a null character, which is refused.
  it.each([...HOSTILE_STRINGS.filter((text) => !text.includes('\0')), ...HOSTILE_SHELL_STRINGS])(
    'get the string %j unchanged, and never as code: unquoted, in all quotes and in here-documents',
    async (text) => {
      const result = await run(
        [sh('S', SCRIPT), fn('Z', 'return [<s.result>, <s.stdout>]')],
        ['Start -> S -> Z'],
        { text },
      );
      const expected = [text, text, text, text, `in ${text} double`, `in ${text} single`, text, `${text}.`];
      expect(result).toMatchObject({ output: { result: [expected, ''] } });
    },
  );

  it.each([
    [
      'a result that has only brackets',
      'printf __HEDDLE_RESULT__=[; yes "[]," | head -n 1300000 | tr -d "\\n"; echo 1]',
      'RESULT_TOO_LARGE',
    ],
    [
      'the allowed number of brackets',
      'printf __HEDDLE_RESULT__=[; yes "[]," | head -n 499000 | tr -d "\\n"; echo 1]',
      'OK',
    ],
    [
      'a result that is nested deeper than any parser allows',
      'printf __HEDDLE_RESULT__=; head -c 2000000 /dev/zero | tr "\\0" "["; head -c 2000000 /dev/zero | tr "\\0" "]"',
      'RESULT_TOO_LARGE',
    ],
    [
      'a result that is written character by character',
      'printf __HEDDLE_RESULT__=; for ((i = 0; i < 20000; i++)); do printf x; done',
      'OK',
    ],
    ['endless lines', 'yes | head -n 3000000', 'OK'],
    ['bytes that are not text', 'printf "__HEDDLE_RESULT__=\\xff\\xfe\\x00\\xed\\xa0\\x80"', 'OK'],
  ])('do not block their host with %s', async (_title, code, expected) => {
    const outcome = await nativeImages.run({ code });
    expect(outcome.ok ? 'OK' : outcome.error.code).toBe(expected);
  });

  it.each([
    ['another result', `b'D"forged"'`, /^"forged"$/],
    ['a message of an unknown kind', "b'Zx'", /^SANDBOX_PROTOCOL$/],
    ['a result that is not JSON', "b'D{'", /^SANDBOX_PROTOCOL$/],
    ['a malformed error', "b'E[]'", /^SANDBOX_PROTOCOL$/],
    ['an endless error', "b'E' + b'[' * 10_000_000", /^SANDBOX_PROTOCOL$/],
    ['a result that has only brackets', "b'D[' + b'[],' * 1_300_000 + b'1]'", /^RESULT_TOO_LARGE$/],
    ['a result above its limit', "b'D[' + b'[],' * 5_000_000 + b'1]'", /^RESULT_TOO_LARGE$/],
    ['endless bytes', "b'x' * 60_000_000", /^RESULT_TOO_LARGE$/],
  ])('in Python cause no harm by writing %s to the result descriptor', async (_title, bytes, expected) => {
    const code = `import os\ndata = memoryview(${bytes})\nwhile data: data = data[os.write(3, data[:65536]):]\nos._exit(0)`;
    const outcome = await nativeImages.run({ language: 'python', code });
    expect(outcome.ok ? outcome.json : outcome.error.code).toMatch(expected);
  });
});
