import type { Json } from '@heddle/core';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startEchoServer } from '../../support/echo-server.ts';
import { block, fn, type TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { openTestEngine, sharedTestEngine } from './test-engine.ts';

const pythonBlock = (name: string, code: string, fields: { [name: string]: Json } = {}): TestBlock =>
  block(name, 'function', { code, language: 'python', ...fields });

const HOSTILE_TEXT = `it's "quoted" \\ \n''' """ {x} <start.n> {{OTHER}}`;

/**
 * Defines the tests of what Python code in function blocks can access: the environment, variables, large values and the
 * network.
 */
export function describePythonData(makeRuntime: MakeRuntime): void {
  describe('data available to code in Python', () => {
    const env: NonNullable<EngineOptions['env']> = {
      PLAIN: { value: 'p', secret: false },
      HOSTILE: { value: HOSTILE_TEXT, secret: false },
      NUMBER: { value: '7', secret: false },
    };
    const getTestEngine = sharedTestEngine(makeRuntime, { env });

    it('placeholders are text in every position and for every value, and unknown ones stay unchanged', async () => {
      const { runWorkflow } = await getTestEngine();
      const code = `
x = {{HOSTILE}}
same = [x == "{{HOSTILE}}", x == '{{HOSTILE}}', x == """{{HOSTILE}}""", x == f"{{HOSTILE}}", x == r'{{HOSTILE}}']
# {{HOSTILE}}
return [same, x, {{NUMBER}}, "a {{PLAIN}} b", "{{NOPE}}"]`;
      expect(await runWorkflow({ blocks: [pythonBlock('P', code)], edges: ['Start -> P'] })).toMatchObject({
        status: 'completed',
        output: { result: [[true, true, true, true, true], HOSTILE_TEXT, '7', 'a p b', '{{NOPE}}'] },
      });
    });

    it('environmentVariables has all environment values, or those that the block mounts', async () => {
      const { runWorkflow } = await getTestEngine();
      const code = 'return sorted(environmentVariables)';
      const secretFields = { secretScope: 'selected', mountedSecrets: ['PLAIN'] };
      const result = await runWorkflow({
        blocks: [
          pythonBlock('All', 'return [environmentVariables["HOSTILE"], sorted(environmentVariables)]'),
          pythonBlock('Some', code, secretFields),
          pythonBlock('None', code, { secretScope: 'selected' }),
          pythonBlock('Process', 'return [name for name in ("PLAIN", "HOSTILE") if name in os.environ]'),
          fn('Z', 'return [<all.result>, <some.result>, <none.result>, <process.result>]'),
        ],
        edges: ['Start -> All -> Some -> None -> Process -> Z'],
      });
      expect(result).toMatchObject({
        output: { result: [[HOSTILE_TEXT, ['HOSTILE', 'NUMBER', 'PLAIN']], ['PLAIN'], [], []] },
      });
    });

    it('variables of every type are native Python values', async () => {
      const { runWorkflow } = await getTestEngine();
      const variables = {
        text: { type: 'string', value: "it's" },
        yes: { type: 'boolean', value: true },
        no: { type: 'boolean', value: false },
        half: { type: 'number', value: 0.5 },
        object: { type: 'object', value: { a: [1, { b: null }] } },
        list: { type: 'array', value: [[], {}] },
      };
      const code = `
assert <variable.yes> is True and <variable.no> is False and <variable.object>["a"][1]["b"] is None
return [<variable.text>, "<variable.text>", <variable.half>, <variable.object.a[1]>, <variable.list>, "<variable.yes>"]`;
      expect(
        await runWorkflow({
          blocks: [pythonBlock('P', code)],
          edges: ['Start -> P'],
          workflowOptions: { variables },
        }),
      ).toMatchObject({
        status: 'completed',
        output: { result: ["it's", `"it's"`, 0.5, { b: null }, [[], {}], 'true'] },
      });
    });

    it('a reference to an unknown block stays text inside quotes, and makes the workflow invalid outside quotes', async () => {
      const { runWorkflow } = await getTestEngine();
      const blockWithQuotes = pythonBlock('P', 'return ["<nosuch.x>", f"<nosuch.x> {1}"]');
      expect(await runWorkflow({ blocks: [blockWithQuotes], edges: ['Start -> P'] })).toMatchObject({
        output: { result: ['<nosuch.x>', '<nosuch.x> 1'] },
      });
      const runOutsideQuotes = runWorkflow({
        blocks: [pythonBlock('P', 'return <nosuch.x>')],
        edges: ['Start -> P'],
      });
      await expect(runOutsideQuotes).rejects.toMatchObject({
        code: 'WORKFLOW_INVALID',
        message: expect.stringContaining('nosuch') as string,
      });
    });

    it('large values are passed and returned whole', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          fn('A', 'return Array.from({ length: 20000 }, (_, i) => ({ i, s: "é\\u2028" }))'),
          pythonBlock('P', 'x = <a.result>\nx.append(<a.result[19999].i>)\nreturn x'),
          fn('Z', 'return [<p.result>.length, <p.result[7].s>, <p.result[20000]>]'),
        ],
        edges: ['Start -> A -> P -> Z'],
      });
      expect(result).toMatchObject({ output: { result: [20_001, 'é\u2028', 19_999] } });
    });

    it('output that is too long is truncated with a note', async () => {
      const { runWorkflow } = await getTestEngine();
      const code = 'for n in range(3000): print("x" * 100)\nreturn 1';
      const result = await runWorkflow({
        blocks: [
          pythonBlock('P', code),
          fn('Z', 'return [<p.result>, <p.stdout>.length, <p.stdout>.slice(-18)]'),
        ],
        edges: ['Start -> P -> Z'],
      });
      const output = result.output as { result: [number, number, string] };
      expect(output.result[0]).toBe(1);
      expect(output.result[1]).toBeGreaterThanOrEqual(200_000);
      expect(output.result[1]).toBeLessThan(303_000);
      expect(output.result[2]).toBe('[stdout truncated]');
    });

    it('requests, urllib and fetch obey the same egress policy as other blocks', async () => {
      const { url, port, close } = await startEchoServer();
      onTestFinished(close);
      const { runWorkflow } = await openTestEngine(makeRuntime, {
        egress: { allowPrivate: ['127.0.0.1/32'], ports: [port] },
      });
      const code = `
import requests, urllib.request
from js import fetch
base_url = "${url}/"
sent = requests.post(base_url + "a", json={"n": 1}).json()
opened = json.load(urllib.request.urlopen(base_url + "b"))
awaited = await (await fetch(base_url + "c")).text()
try: requests.get("http://169.254.169.254/latest/meta-data/")
except requests.exceptions.ConnectionError as error: refused = "169.254.169.254" in str(error)
return [sent["method"], opened["path"], json.loads(awaited)["path"], refused]`;
      expect(await runWorkflow({ blocks: [pythonBlock('P', code)], edges: ['Start -> P'] })).toMatchObject({
        status: 'completed',
        output: { result: ['POST', '/b', '/c', true] },
      });
    });
  });
}
