import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryKnowledge } from '../support/tenant-knowledge.ts';
import { block, workflow } from '../support/workflow.ts';
import { startModel } from './metered-agents.ts';

/** Runs a guardrails block on `text`, which comes from the input. */
async function runGuardrails(fields: JsonObject, text: string | JsonObject) {
  const engine = await createEngine({ blocks: blocks() });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const guardrails = block('G', 'guardrails', { input: '<start.text>', ...fields });
  return engine.execute({ workflow: workflow([guardrails], ['Start -> G']) }, { text });
}

describe('guardrails for JSON', () => {
  it.each<[text: string | JsonObject, passed: boolean]>([
    ['{"a": [1]}', true],
    ['7', true],
    [{ a: 1 }, true],
    ['{"a": ', false],
  ])('set `passed` for %j to %s', async (text, passed) => {
    const { output } = await runGuardrails({ validationType: 'json' }, text);
    expect(output).toMatchObject({ passed, validationType: 'json' });
    expect('error' in (output as object)).toBe(!passed);
  });
});

describe('guardrails with a regular expression', () => {
  it.each<[regex: string, text: string, passed: boolean]>([
    ['^A-\\d+$', 'A-17', true],
    ['^A-\\d+$', 'B-17', false],
    ['^(?=.*[0-9])(?<word>\\w+)$', 'abc1', true],
  ])('set `passed` for the expression %s and the text %s to %s', async (regex, text, passed) => {
    const { output } = await runGuardrails({ validationType: 'regex', regex }, text);
    expect(output).toMatchObject({ passed, input: text });
  });

  it('stop the expression after a second', async () => {
    const result = await runGuardrails({ validationType: 'regex', regex: '^(a+)+$' }, `${'a'.repeat(60)}!`);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'EXPRESSION_FAILED' } });
    expect(result.error?.message).toContain('takes longer than 1000 ms');
  });

  it.each<[fields: JsonObject, message: RegExp]>([
    [{ regex: '(' }, /The block "G" has an invalid regular expression: .*Unterminated group/],
    [{}, /The block "G" has no regular expression/],
  ])('fail if the expression is invalid: %j', async (fields, message) => {
    const result = await runGuardrails({ validationType: 'regex', ...fields }, 'x');
    expect(result).toMatchObject({ error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toMatch(message);
  });
});

describe('guardrails for personal data', () => {
  const text = 'Ask ada@example.com';

  it('do not pass text with personal data', async () => {
    const { output } = await runGuardrails({ validationType: 'pii', piiEntityTypes: [] }, text);
    expect(output).toEqual({
      passed: false,
      validationType: 'pii',
      input: text,
      error: 'The text has personal data: EMAIL_ADDRESS.',
      detectedEntities: [{ type: 'EMAIL_ADDRESS', start: 4, end: 19 }],
    });
  });

  it('mask personal data', async () => {
    const fields = { validationType: 'pii', piiMode: 'mask', piiEntityTypes: '["EMAIL_ADDRESS"]' };
    expect((await runGuardrails(fields, text)).output).toMatchObject({
      passed: true,
      maskedText: 'Ask <EMAIL_ADDRESS>',
    });
  });

  it('fail for unsupported types of personal data', async () => {
    const result = await runGuardrails({ validationType: 'pii', piiEntityTypes: ['PERSON', 'URL'] }, text);
    expect(result.error?.message).toMatch(
      /The block "G" checks for unsupported types of data: PERSON\. Supported types are EMAIL_ADDRESS, /,
    );
  });
});

describe('guardrails against hallucination', () => {
  /** Checks a text against a knowledge base of the tenant `mine`; the model gives this answer. */
  async function checkAgainstKnowledge(fields: JsonObject, answer?: JsonObject) {
    const knowledge = new MemoryKnowledge();
    for (const tenant of ['mine', 'theirs']) {
      knowledge.addKnowledgeBase(tenant, `kb of ${tenant}`);
      const document = { name: 'a', content: `Looms of ${tenant} weave.`, mimeType: 'text/plain', tags: {} };
      await knowledge.createDocument(tenant, `kb of ${tenant}`, { ...document, replaces: undefined }, 'k');
    }
    const server = await startModel(() => ({ text: JSON.stringify({ answer: answer ?? {} }) }));
    const engine = await createEngine({
      ...{ blocks: blocks(), services: server.services, tenant: () => 'mine', tenantKnowledge: knowledge },
    });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const baseFields = {
      validationType: 'hallucination',
      knowledgeBaseId: 'kb of mine',
      model: 'local/scripted',
    };
    const guardrails = block('G', 'guardrails', { input: 'Looms weave.', ...baseFields, ...fields });
    const result = await engine.execute({ workflow: workflow([guardrails], ['Start -> G']) });
    return { result, knowledge, requests: server.requests };
  }

  it.each([
    [3, 7, true],
    [8, 7, false],
    [10, 99, true],
  ])('set `passed` for the threshold %d and a score of %d to %s', async (threshold, score, passed) => {
    const { result, knowledge, requests } = await checkAgainstKnowledge(
      { threshold, topK: 2 },
      { score, reasoning: 'Yes.' },
    );
    const expected = { passed, score: Math.min(10, score), reasoning: 'Yes.', model: 'scripted' };
    expect(result).toMatchObject({ status: 'completed', output: { ...expected, input: 'Looms weave.' } });
    expect('error' in (result.output as object)).toBe(!passed);
    expect(knowledge.searches).toMatchObject([{ query: 'Looms weave.', topK: 2 }]);
    const requestText = JSON.stringify(requests[0]?.body);
    expect(requestText).toContain('Looms of mine weave.');
    expect(requestText).not.toContain('theirs');
  });

  it('call no model if the knowledge base has no passage about the text', async () => {
    const { result, requests } = await checkAgainstKnowledge({ input: 'Xylophone?' });
    expect(result.output).toMatchObject({ passed: false, score: 0 });
    expect(requests).toEqual([]);
  });

  it.each<[fields: JsonObject, code: string, message: RegExp]>([
    [{ knowledgeBaseId: 'kb of theirs' }, 'KNOWLEDGE_UNKNOWN', /no knowledge base "kb of theirs"/],
    [{ knowledgeBaseId: '' }, 'BLOCK_CONFIG_INVALID', /fill in "knowledgeBaseId"/],
    [{ threshold: 11 }, 'BLOCK_CONFIG_INVALID', /threshold/],
  ])('fail with %j: %s', async (fields, code, message) => {
    const { result, requests } = await checkAgainstKnowledge(fields);
    expect(result.error).toMatchObject({ code, message: expect.stringMatching(message) as string });
    expect(requests).toEqual([]);
  });

  it('fail if the host stores no knowledge bases', async () => {
    const result = await runGuardrails({ validationType: 'hallucination', knowledgeBaseId: 'kb' }, 'x');
    expect(result.error).toMatchObject({ code: 'FEATURE_MISSING', details: { feature: 'knowledge' } });
  });
});
