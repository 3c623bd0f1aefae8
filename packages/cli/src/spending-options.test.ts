import { describe, expect, it } from 'vitest';
import { maxCostOf, modelOptionsOf, serviceRatesOf, spendingArgs } from './spending-options.ts';

describe('--max-cost', () => {
  it('takes an amount for each scope, and a window for conversations and workspaces', () => {
    const maxCost = ['call=0.10', 'run=1', 'conversation=5', 'workspace=20/day'];
    expect(maxCostOf({ maxCost })).toEqual({
      call: 0.1,
      run: 1,
      conversation: { dollars: 5 },
      tenant: { dollars: 20, per: 'day' },
    });
    expect(maxCostOf({})).toEqual({});
  });

  it.each(['run', 'team=1', 'run=-1', 'run=1e3', 'run=', 'workspace=1/week'])('refuses %s', (text) => {
    expect(() => maxCostOf({ maxCost: [text] })).toThrow('--max-cost takes SCOPE=DOLLARS[/WINDOW]');
  });

  it('refuses a window for a call or a run', () => {
    expect(() => maxCostOf({ maxCost: ['run=1/day'] })).toThrow('it caps each run');
  });
});

describe('options of models', () => {
  it('are prices, rates and fallbacks', () => {
    const options = {
      price: ['azure/my-deployment=2.50,10', 'ollama/*=0,0,0'],
      modelRate: ['openai=500', 'groq=30,6000', 'xai=,1000'],
      fallbackModel: ['gpt-4o', 'claude-haiku-4-5'],
    };
    expect(modelOptionsOf(options)).toEqual({
      prices: {
        'azure/my-deployment': { input: 2.5, output: 10 },
        'ollama/*': { input: 0, output: 0, cachedInput: 0 },
      },
      rateLimits: {
        openai: { requestsPerMinute: 500 },
        groq: { requestsPerMinute: 30, tokensPerMinute: 6000 },
        xai: { tokensPerMinute: 1000 },
      },
      fallbackModels: ['gpt-4o', 'claude-haiku-4-5'],
    });
    expect(spendingArgs({ ...options, maxCost: ['run=1'] }).join(' ')).toBe(
      '--max-cost run=1 --price azure/my-deployment=2.50,10 --price ollama/*=0,0,0 --model-rate openai=500 ' +
        '--model-rate groq=30,6000 --model-rate xai=,1000 --fallback-model gpt-4o --fallback-model claude-haiku-4-5',
    );
  });

  it.each(['gpt-4o=1,2', 'openai/gpt-4o=1', 'openai/gpt-4o=a,b'])('refuse the price %s', (text) => {
    expect(() => modelOptionsOf({ price: [text] })).toThrow(
      '--price takes PROVIDER/MODEL=INPUT,OUTPUT[,CACHED]',
    );
  });

  it.each(['openai', 'openai=', 'openai=0', 'openai=1,', 'openai=1,2,3'])('refuse the rate %s', (text) => {
    expect(() => modelOptionsOf({ modelRate: [text] })).toThrow(
      '--model-rate takes PROVIDER=REQUESTS[,TOKENS]',
    );
  });
});

describe('--service-rate', () => {
  it('sets calls and seconds for each service', () => {
    const options = { serviceRate: ['google_drive=100/60', 'slack=1/1'] };
    expect(serviceRatesOf(options)).toEqual({
      google_drive: { calls: 100, seconds: 60 },
      slack: { calls: 1, seconds: 1 },
    });
    expect(spendingArgs(options)).toEqual([
      '--service-rate',
      'google_drive=100/60',
      '--service-rate',
      'slack=1/1',
    ]);
  });

  it.each(['slack', 'slack=1', 'slack=0/1', 'slack=1/0', 'slack=1.5/1', '=1/1'])('refuses %s', (text) => {
    expect(() => serviceRatesOf({ serviceRate: [text] })).toThrow(
      '--service-rate takes SERVICE=CALLS/SECONDS',
    );
  });
});
