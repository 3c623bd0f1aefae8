import { describe, expect, it } from 'vitest';
import { knownModels, findModel } from './catalog.ts';
import { estimateOf, costBounds } from './estimate.ts';
import { addCosts, costOf, costOutput, NO_TOKENS } from './usage.ts';

const INFO = { context: 10_000, output: 500 };
const promptOf = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }];
const tokens = (input: number, output: number, otherTokens = {}) => ({
  ...NO_TOKENS,
  ...{ input, output, total: input + output },
  ...otherTokens,
});

describe('the estimate of a call', () => {
  it('grows with the prompt and its tools, up to the context of the model', () => {
    const inputOf = (text: string) =>
      estimateOf({ prompt: promptOf(text) }, { info: INFO, limitIncludesReasoning: true }).input;
    expect(inputOf('x'.repeat(2000)) - inputOf('')).toBe(1000);
    expect(inputOf('\u6587'.repeat(100)) - inputOf('')).toBe(150);
    expect(inputOf('x'.repeat(1_000_000))).toBe(10_000);
    const tool = { type: 'function' as const, name: 'a', inputSchema: { type: 'object' as const } };
    const estimateWithTool = estimateOf(
      { prompt: promptOf(''), tools: [tool] },
      { info: INFO, limitIncludesReasoning: true },
    );
    expect(estimateWithTool.input).toBeGreaterThan(inputOf('') + 16);
  });

  it('takes the output from the call’s limit if it includes reasoning, else from the model', () => {
    const outputOf = (
      maxOutputTokens: number | undefined,
      limitIncludesReasoning = true,
      info: typeof INFO | undefined = INFO,
    ) =>
      estimateOf(
        { prompt: promptOf(''), ...(maxOutputTokens && { maxOutputTokens }) },
        { info, limitIncludesReasoning },
      ).output;
    expect([outputOf(100), outputOf(900), outputOf(undefined), outputOf(100, false)]).toEqual([
      100, 500, 500, 500,
    ]);
    expect(
      estimateOf({ prompt: promptOf('') }, { info: undefined, limitIncludesReasoning: true }).output,
    ).toBe(128_000);
  });

  it('counts a fixed number of tokens for an image, and a PDF by its bytes', () => {
    const fileTokens = (mediaType: string, bytes: number) =>
      estimateOf(
        {
          prompt: [
            {
              role: 'user',
              content: [{ type: 'file', mediaType, data: { type: 'data', data: new Uint8Array(bytes) } }],
            },
          ],
        },
        { info: undefined, limitIncludesReasoning: true },
      ).input;
    expect(fileTokens('image/png', 2_000_000)).toBeLessThan(7000);
    expect(fileTokens('application/pdf', 200_000)).toBeGreaterThanOrEqual(100_000);
  });
});

describe('costs', () => {
  const prices = { input: 1, output: 4, cachedInput: 0.1, cacheWrite: 1.25, reasoning: 5 };

  it('are integers, with the prices of cached input, of writes to the cache and of reasoning', () => {
    expect(costOf(tokens(1000, 100, { cached: 600, cacheWrite: 200, reasoning: 40 }), prices)).toEqual({
      input: 200 + 60 + 250,
      output: 240 + 200,
      total: 950,
    });
    expect(costOf(tokens(1, 1), { input: 0.3, output: 0.3 })).toEqual({ input: 0, output: 0, total: 0 });
  });

  it('use the prices of long prompts for all tokens if the input is above the threshold', () => {
    const tieredPrices = { input: 1, output: 2, long: { above: 1000, input: 2, output: 3 } };
    expect(costOf(tokens(1000, 10), tieredPrices).total).toBe(1020);
    expect(costOf(tokens(1001, 10), tieredPrices).total).toBe(2032);
    expect(costBounds({ input: 1001, output: 10 }, tieredPrices)).toEqual({
      maxMicros: 2032,
      minMicros: 2002,
    });
  });

  it('are never above the highest cost that is estimated for the same tokens', () => {
    for (const usedTokens of [tokens(1000, 100), tokens(1000, 100, { cacheWrite: 1000, reasoning: 100 })])
      expect(costOf(usedTokens, prices).total).toBeLessThanOrEqual(costBounds(usedTokens, prices).maxMicros);
  });

  it('are added exactly, and shown in dollars and millionths of a dollar', () => {
    const cost = { input: 100_000, output: 0, total: 100_000 };
    const sum = addCosts(addCosts(cost, cost), cost);
    expect(sum && costOutput(sum)).toMatchObject({ total: 0.3, totalMicros: 300_000 });
    expect(addCosts(undefined, cost)).toEqual(cost);
  });

  it('come from a table in which each model has a source with a date', () => {
    for (const { id, source } of knownModels()) {
      expect(new URL(source.url).protocol, id).toBe('https:');
      expect(source.checkedOn, id).toMatch(/^20\d\d-\d\d-\d\d$/);
      expect(new Date(`${source.checkedOn}T00:00:00Z`).toISOString(), id).toContain(source.checkedOn);
    }
  });

  it('of a dated version use its own prices, or those of its model', () => {
    expect(findModel('gpt-4o-2024-05-13')?.info?.prices).toEqual({ input: 5, output: 15 });
    expect(findModel('openai/gpt-4o-2024-05-13')?.info?.prices.input).toBe(5);
    expect(findModel('gpt-4o-2024-11-20')?.info?.prices.input).toBe(2.5);
  });

  it('come from a consistent table: cached input is not more expensive, and an output fits into the context', () => {
    for (const { context, output, prices: listedPrices } of knownModels()) {
      expect(output).toBeLessThanOrEqual(context);
      expect(listedPrices.cachedInput ?? 0).toBeLessThanOrEqual(listedPrices.input);
      expect(listedPrices.reasoning ?? listedPrices.output).toBeGreaterThanOrEqual(listedPrices.output);
      expect(listedPrices.long?.input ?? Infinity).toBeGreaterThan(listedPrices.input);
    }
  });
});
