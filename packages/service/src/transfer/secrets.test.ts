import { describe, expect, it } from 'vitest';
import { measureCpuMs } from '../../../../test/support/cpu.ts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { isSecretName, withoutSecrets } from './secrets.ts';

const digits = '0123456789'.repeat(4);

describe('isSecretName', () => {
  it.each([
    'apiKey',
    'api_key',
    'X-API-Key',
    'botToken',
    'PASSWORD',
    'webhookSecret',
    'Authorization',
    'Set-Cookie',
    'auth',
  ])('is true for %s', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each([
    'maxTokens',
    'secretScope',
    'mountedSecrets',
    'author',
    'authMethod',
    'name',
    'key',
    'constructor',
  ])('is false for %s', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

describe('withoutSecrets', () => {
  const secretFormats: [string, Json, Json][] = [
    ['a key of a model provider', `sk-proj-${digits}`, null],
    ['a token inside code', `fetch(u, "ghp_${digits}")`, 'fetch(u, "REMOVED")'],
    ['a chat token', `xoxb-${digits}`, null],
    ['a payment key', `use sk_live_${digits}`, 'use REMOVED'],
    ['a cloud key', 'AKIAIOSFODNN7EXAMPLE', null],
    ['a signed token', `eyJ${digits}.${digits}.${digits}`, null],
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----', null],
    ['a private key without an end', 'x -----BEGIN PRIVATE KEY-----\nabc', 'x REMOVED'],
    ['a bearer header', `Authorization: Bearer abc${digits}`, 'Authorization: Bearer REMOVED'],
    ['a password in a URL', 'postgres://u:p4ss@db/x', 'postgres://REMOVED@db/x'],
    [
      'a signature in a URL',
      'https://x.test/f?a=1&X-Amz-Signature=abc',
      'https://x.test/f?a=1&X-Amz-Signature=REMOVED',
    ],
    ['an assignment in code', `const apiKey = 'abc12345'`, `const apiKey = 'REMOVED'`],
  ];
  it.each(secretFormats)('removes %s by its format', (_, value, expected) => {
    expect(withoutSecrets(value)).toEqual(expected);
  });

  it.each([
    'Write a task-management-system-overview for 2024',
    'Explain basic responsibilities of a team',
    'token: "string"',
    'https://x.test/list?sort=asc&q={{QUERY}}',
    'https://x.test/?token={{TOKEN}}',
    'Bearer {{TOKEN}}',
    '{{OPENAI_KEY}} <agent.content>',
  ])('keeps ordinary text: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  it('clears values by the name of their key, in rows, named values and JSON text', () => {
    const value = {
      params: { apiKey: 'x', query: 'y', password: 7, includeCookie: true },
      rows: [
        { id: '1', cells: { Key: 'Authorization', Value: 'abc' } },
        { Key: 'Accept', Value: 'json' },
      ],
      form: [{ name: 'password', type: 'string', value: 'hunter2' }],
      set: [{ variableName: 'apiToken', value: 'abc' }],
      text: '{"secret":"abc","n":1}',
    };
    expect(withoutSecrets(value)).toEqual({
      params: { apiKey: null, query: 'y', password: null, includeCookie: true },
      rows: [
        { id: '1', cells: { Key: 'Authorization', Value: null } },
        { Key: 'Accept', Value: 'json' },
      ],
      form: [{ name: 'password', type: 'string', value: null }],
      set: [{ variableName: 'apiToken', value: null }],
      text: '{"secret":null,"n":1}',
    });
  });

  it('keeps placeholders and references in place of secrets', () => {
    const value = { apiKey: '{{KEY}}', token: '<login.token>', authorization: 'Bearer {{KEY}}' };
    expect(withoutSecrets(value)).toEqual(value);
    expect(withoutSecrets({ apiKey: '{{KEY}} abc' })).toEqual({ apiKey: null });
  });

  it('keeps the schema of a field that is named like a secret, without keywords that may contain values', () => {
    const schema = { properties: { password: { type: 'string', description: 'yours', default: 'hunter2' } } };
    expect(withoutSecrets(schema)).toEqual({
      properties: { password: { type: 'string', description: 'yours' } },
    });
    expect(withoutSecrets({ password: { type: 'hunter2' } })).toEqual({ password: null });
  });

  it('keeps JSON text without secrets as it is written', () => {
    expect(withoutSecrets('{ "a" :  1 }')).toBe('{ "a" :  1 }');
  });

  it('reads keys of Object.prototype as ordinary keys', () => {
    const value = JSON.parse('{"__proto__":{"apiKey":"x"},"constructor":{"password":"x"}}') as JsonObject;
    expect(JSON.stringify(withoutSecrets(value))).toBe(
      '{"__proto__":{"apiKey":null},"constructor":{"password":null}}',
    );
  });

  it('removes values that are nested too deeply to check', () => {
    let deepValue: Json = { apiKey: 'x' };
    for (let n = 0; n < 5000; n++) deepValue = [deepValue];
    expect(JSON.stringify(withoutSecrets(deepValue))).not.toContain('apiKey');
  });

  it.each([
    ['eyJ', 'eyJ-'],
    ['PEM prefixes', '-----BEGIN '],
    ['private key headers', '-----BEGIN PRIVATE KEY-----'],
    ['schemes', 'a.a:'],
    ['URLs', 'ab://'],
    ['query parameters', '?a-token='],
    ['query parameter names', '?key'],
    ['assignments', 'token="'],
    ['bearer', 'bearer '],
    ['model keys', 'sk-'],
    ['spaces', 'token     '],
    ['braces', '{{'],
  ])('takes linear time for hostile text: %s', (_, fragment) => {
    const cpuMs = measureCpuMs(() => {
      withoutSecrets(fragment.repeat(Math.ceil(1_000_000 / fragment.length)));
      withoutSecrets(`x${fragment.repeat(Math.ceil(500_000 / fragment.length))}\u0000`);
    });
    expect(cpuMs).toBeLessThan(3000);
  });
});
