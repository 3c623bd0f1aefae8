import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createImageFolder } from '../../../../test/support/images.ts';
import { findNpm, readNpmSettings } from './npm-settings.ts';

it('registry settings come from the user, the project and the environment, in order of increasing precedence', () => {
  const folder = createImageFolder();
  const home = join(folder, 'home');
  const cwd = join(folder, 'project');
  for (const path of [home, cwd]) mkdirSync(path);
  writeFileSync(
    join(home, '.npmrc'),
    '; mine\nregistry=https://user.test/\n//user.test/:_authToken=${TOKEN}\nignore-scripts=false\ncafile="/ca.pem"\n',
  );
  writeFileSync(
    join(cwd, '.npmrc'),
    '@us:registry = https://us.test/\nregistry=https://project.test/\nscript-shell=/bin/evil\n',
  );
  const env = {
    TOKEN: 'secret',
    npm_config_fetch_retries: '1',
    NPM_CONFIG_PROXY: 'http://proxy.test',
    PATH: '/bin',
  };
  expect(readNpmSettings({ env, cwd, home })).toEqual({
    registry: 'https://project.test/',
    '//user.test/:_authToken': 'secret',
    cafile: '/ca.pem',
    '@us:registry': 'https://us.test/',
    'fetch-retries': '1',
    proxy: 'http://proxy.test',
  });
  const envWithUserConfig = {
    npm_config_userconfig: join(cwd, '.npmrc'),
    npm_config_registry: 'https://env.test/',
  };
  expect(readNpmSettings({ env: envWithUserConfig, cwd: folder, home })).toMatchObject({
    registry: 'https://env.test/',
  });
});

it('npm is found through PATH or next to Node.js', () => {
  const folder = createImageFolder();
  expect(findNpm(folder, join(folder, 'bin', 'node'))).toBeUndefined();
  mkdirSync(join(folder, 'lib', 'node_modules', 'npm', 'bin'), { recursive: true });
  writeFileSync(join(folder, 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'), '');
  const npmCliPath = expect.stringMatching(/npm-cli\.js$/) as string;
  expect(findNpm(join(folder, 'bin'), '/nowhere/node')).toEqual(npmCliPath);
  expect(findNpm(undefined, join(folder, 'bin', 'node'))).toEqual(npmCliPath);
});
