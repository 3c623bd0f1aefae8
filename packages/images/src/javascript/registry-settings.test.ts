import { describe, expect, it } from 'vitest';
import { RegistrySettings } from './registry-settings.ts';

const toBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('registry settings', () => {
  it('give npm the registries, but no credentials, certificates or proxies', () => {
    const { npmSettings } = new RegistrySettings({
      registry: 'https://me:secret@npm.example.com/own/',
      '@team:registry': 'https://team.example.com/',
      '//npm.example.com/:_authToken': 'secret',
      cafile: '/etc/own.pem',
      proxy: 'http://me:secret@proxy.example.com/',
      'strict-ssl': 'false',
      'fetch-retries': '5',
    });
    expect(npmSettings).toEqual({
      registry: 'https://npm.example.com/own/',
      '@team:registry': 'https://team.example.com/',
      'fetch-retries': '5',
    });
  });

  it.each<[string, Record<string, string>, string, string | undefined]>([
    ['a token', { '//a.example/:_authToken': 't' }, 'https://a.example/x', 'Bearer t'],
    [
      'name and password in one setting',
      { '//a.example/:_auth': 'bWU6cA==' },
      'https://a.example/x',
      'Basic bWU6cA==',
    ],
    [
      'name and password',
      { '//a.example/:username': 'me', '//a.example/:_password': toBase64('p:w') },
      'https://a.example/x',
      `Basic ${toBase64('me:p:w')}`,
    ],
    [
      'the longest path',
      { '//a.example/:_authToken': 'all', '//a.example/own/:_authToken': 'own' },
      'https://a.example/own/x/-/x.tgz',
      'Bearer own',
    ],
    [
      'the registry at the same host',
      { registry: 'https://a.example/npm/', '//a.example/npm/:_authToken': 't' },
      'https://a.example/files/x.tgz',
      'Bearer t',
    ],
    [
      'the registry URL',
      { registry: 'https://me:p%40@a.example/' },
      'https://a.example/x',
      `Basic ${toBase64('me:p@')}`,
    ],
    ['a port', { '//a.example:8080/:_authToken': 't' }, 'http://a.example:8080/x', 'Bearer t'],
    ['no token at another port', { '//a.example:8080/:_authToken': 't' }, 'http://a.example/x', undefined],
    ['no token at another host', { '//a.example/:_authToken': 't' }, 'https://b.example/x', undefined],
    [
      'no token at a host that only ends with the name',
      { '//a.example/:_authToken': 't' },
      'https://evil-a.example/x',
      undefined,
    ],
  ])('return the credentials for a URL: %s', (_description, settings, url, expected) => {
    expect(new RegistrySettings(settings).credentialsFor(new URL(url)).authorization).toBe(expected);
  });

  it.each([
    ['https://registry.npmjs.org/x', true],
    ['https://team.example.com/x', true],
    ['https://files.example.com/x', true],
    ['https://team.example.com:8443/x', false],
    ['https://elsewhere.example.com/x', false],
  ])('tell whether they name the host of %s: %s', (url, expected) => {
    const settings = new RegistrySettings({
      '@team:registry': 'https://team.example.com/',
      '//files.example.com/:_authToken': 't',
    });
    expect(settings.namesHost(new URL(url))).toBe(expected);
  });

  it('select a proxy, except for exempt hosts', () => {
    const settings = new RegistrySettings({
      proxy: 'http://plain.example:1/',
      'https-proxy': 'http://secure.example:2/',
      noproxy: '.internal.example, other.example',
    });
    const proxyFor = (url: string) => settings.connectionFor(new URL(url), {}).proxy;
    expect(
      [
        'http://a.example/',
        'https://a.example/',
        'https://x.internal.example/',
        'https://other.example/',
      ].map(proxyFor),
    ).toEqual(['http://plain.example:1/', 'http://secure.example:2/', undefined, undefined]);
  });

  it('throw an error with the name of a setting whose file cannot be read', () => {
    const settings = new RegistrySettings({ cafile: '/nowhere.pem' });
    expect(() => settings.connectionFor(new URL('https://a.example/'), {})).toThrow(
      /setting cafile cannot be read/,
    );
  });
});
