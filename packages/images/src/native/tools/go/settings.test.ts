import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createImageFolder } from '../../../../../../test/support/images.ts';
import { readGoSettings } from './settings.ts';

const home = '/nonexistent';
const DEFAULT_SETTINGS = { proxies: ['https://proxy.golang.org'] };

it.each<[string, Record<string, string>, unknown]>([
  ['the public proxy if nothing is set', {}, DEFAULT_SETTINGS],
  ['the public proxy if the setting is empty', { GOPROXY: '' }, DEFAULT_SETTINGS],
  [
    'only the HTTP proxies of a list',
    { GOPROXY: 'https://a.test/go, http://b.test,file:///mnt/modules,direct' },
    { proxies: ['https://a.test/go', 'http://b.test'] },
  ],
  [
    'a fallback to the next proxy after any failure',
    { GOPROXY: 'https://a.test|https://b.test|direct' },
    { proxies: ['https://a.test', 'https://b.test'], fallbackOn: 'any-error' },
  ],
  ['no proxy if it is off', { GOPROXY: 'off' }, { proxies: [] }],
  ['no proxy if it is direct', { GOPROXY: 'direct' }, { proxies: [] }],
])("Go's settings give %s", (_description, env, settings) => {
  expect(readGoSettings({ env, home })).toEqual(settings);
});

it("Go's settings come from the environment, otherwise from the file of go env", () => {
  const folder = createImageFolder();
  const write = (path: string, text: string): string => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    return join(folder, path);
  };
  write('.config/go/env', 'GOFLAGS=-mod=mod\nGOPROXY=https://home.test\n');
  write('xdg/go/env', 'GOPROXY=https://xdg.test');
  const configFile = write('go.env', 'GOPROXY=https://file.test\r\n');
  const read = (env: Record<string, string>) => readGoSettings({ env, home: folder }).proxies;
  expect(read({})).toEqual(['https://home.test']);
  expect(read({ XDG_CONFIG_HOME: join(folder, 'xdg') })).toEqual(['https://xdg.test']);
  expect(read({ GOENV: configFile })).toEqual(['https://file.test']);
  expect(read({ GOENV: 'off' })).toEqual(DEFAULT_SETTINGS.proxies);
  expect(read({ GOENV: configFile, GOPROXY: 'https://env.test' })).toEqual(['https://env.test']);
});
