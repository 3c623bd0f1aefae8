import type { Json } from '@heddle/core';
import type { EngineOptions } from '@heddle/engine';
import { afterAll, describe, expect, it, type TestContext } from 'vitest';
import { buildScriptImage, type ScriptImage } from '../../support/native-images.ts';
import { block, condition, fn, loop, parallel, type TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { openTestEngine, type TestEngine } from './test-engine.ts';

const TEST_OPTIONS = { timeout: 120_000 };

/** Defines the tests of shell scripts in function blocks. They need an image, and a host that can confine them. */
export function describeShell(makeRuntime: MakeRuntime): void {
  describe('shell scripts', TEST_OPTIONS, () => {
    const cleanups: (() => Promise<void> | void)[] = [];
    afterAll(async () => {
      for (const clean of cleanups.toReversed()) await clean();
    });

    const openShellEngine = async (): Promise<(TestEngine & ScriptImage) | undefined> => {
      const nativeImage = await buildScriptImage();
      if (nativeImage === undefined) return undefined;
      cleanups.push(() => nativeImage.images.close());
      const { images, isolation } = nativeImage;
      const env: NonNullable<EngineOptions['env']> = {
        K: { value: `it's "k" $HOME`, secret: false },
        L: { value: 'l', secret: false },
      };
      const options: EngineOptions = { images, sandbox: { isolation }, env };
      return {
        ...nativeImage,
        ...(await openTestEngine(makeRuntime, options, (clean) => void cleanups.push(clean))),
      };
    };
    let shellEnginePromise: ReturnType<typeof openShellEngine> | undefined;

    /** Returns functions that run a workflow and create a shell block. Skips the test if there are no native images. */
    const prepareShell = async ({ skip }: TestContext) => {
      const shellEngine = await (shellEnginePromise ??= openShellEngine());
      if (shellEngine === undefined) return skip('Native images cannot be built and run on this machine');
      const shellBlock = (name: string, code: string, fields: { [name: string]: Json } = {}): TestBlock =>
        block(name, 'function', { code, language: 'shell', sandboxId: shellEngine.id, ...fields });
      return { runWorkflow: shellEngine.runWorkflow, shellBlock };
    };

    it('receive each value as one word, whatever it contains, and return JSON, text or nothing', async (context) => {
      const { runWorkflow, shellBlock: sh } = await prepareShell(context);
      const code = `f() { jq -n -c '$ARGS.positional' --args -- "$@"; }
# <a.result.text> and "<nosuch.x>"
d=$(cat <<END
in <a.result.text>
END
)
echo "__HEDDLE_RESULT__=$(f <a.result.text> "<a.result.text>" 'in <a.result.text>' "$d" <a.result.object> <a.result.none> <a.result.n> <a.result.yes>)"`;
      const text = `it's "q" $(id) \`id\` * \${HOME}`;
      const result = await runWorkflow({
        blocks: [
          fn(
            'A',
            `return { text: ${JSON.stringify(text)}, object: { a: [1] }, none: null, n: 1.5, yes: true }`,
          ),
          sh('S', code),
          sh('T', 'echo __HEDDLE_RESULT__=two words'),
          sh('N', 'echo said; echo twice >&2'),
          fn('Z', 'return [<s.result>, <t.result>, <n.result>, <n.stdout>.split("\\n").sort()]'),
        ],
        edges: ['Start -> A -> S -> T -> N -> Z'],
      });
      const words = [text, text, `in ${text}`, `in ${text}`, '{"a":[1]}', '', '1.5', 'true'];
      expect(result).toMatchObject({
        status: 'completed',
        output: { result: [words, 'two words', null, ['said', 'twice']] },
      });
    });

    it('have all or only the mounted environment values as variables, and resolve placeholders to text', async (context) => {
      const { runWorkflow, shellBlock: sh } = await prepareShell(context);
      const code = `x={{K}}
y=$(cat <<END
{{K}}
END
)
u=$(cat <<'END'
{{K}}
END
)
jq -n -c --arg x "$x" --arg y "$y" --arg z "{{K}}" --arg w '{{K}}' --arg u "$u" '[env.K, env.L, $x, $y, $z, $w, $u]' | sed s/^/__HEDDLE_RESULT__=/`;
      const secretFields = { secretScope: 'selected', mountedSecrets: ['L'] };
      const result = await runWorkflow({
        blocks: [
          sh('S', code),
          sh('T', `jq -n -c '[env.K, env.L]' | sed s/^/__HEDDLE_RESULT__=/`, secretFields),
          fn('Z', 'return [<s.result>, <t.result>]'),
        ],
        edges: ['Start -> S -> T -> Z'],
      });
      const k = `it's "k" $HOME`;
      expect(result).toMatchObject({
        output: {
          result: [
            [k, 'l', k, k, k, k, '{{K}}'],
            [null, 'l'],
          ],
        },
      });
    });

    it('run in loops, parallels and branches, and read blocks that did not run as empty', async (context) => {
      const { runWorkflow, shellBlock: sh } = await prepareShell(context);
      const result = await runWorkflow({
        blocks: [
          loop('L', { loopType: 'for', count: 2 }, sh('A', 'echo __HEDDLE_RESULT__=$((<loop.index> + 10))')),
          parallel(
            'Q',
            { parallelType: 'collection', collection: '["x y", "z"]' },
            sh('B', 'echo "__HEDDLE_RESULT__=<parallel.index> <parallel.currentItem>"'),
          ),
          condition('C', { no: 'false', other: '' }),
          fn('Never', 'return 1'),
          sh('D', 'echo "__HEDDLE_RESULT__=[\\"<never.result>\\"]"'),
          fn(
            'Z',
            'return [<l.results>.map((t) => t[0].result), <q.results>.map((t) => t[0].result), <d.result>]',
          ),
        ],
        edges: ['Start -> L -> A', 'L -> Q -> B', 'Q -> C', 'C:no -> Never', 'C:other -> D -> Z'],
      });
      expect(result).toMatchObject({
        status: 'completed',
        output: { result: [[10, 11], ['0 x y', '1 z'], ['']] },
      });
    });

    it('fail their block after a timeout, and after a non-zero exit code with the end of their output in the message', async (context) => {
      const { runWorkflow, shellBlock: sh } = await prepareShell(context);
      const result = await runWorkflow({
        blocks: [
          sh('S', 'echo why >&2; exit 7'),
          fn('H', 'return <s.error>'),
          sh('T', 'sleep 60', { timeout: 500 }),
          fn('I', 'return [<h.result>, <t.error>]'),
        ],
        edges: ['Start -> S', 'S:error -> H -> T', 'T:error -> I'],
      });
      expect(result).toMatchObject({
        status: 'completed',
        output: {
          result: [expect.stringContaining('exit code 7: why'), expect.stringContaining('500 ms')] as unknown,
        },
      });
    });
  });
}
