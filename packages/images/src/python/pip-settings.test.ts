import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createImageFolder } from '../../../../test/support/images.ts';
import { readPipSettings } from './pip-settings.ts';

const pypi = { index: 'https://pypi.org/simple/', filesUrl: 'https://files.pythonhosted.org/' };

/** Creates a home folder with a pip.conf, which takes precedence over the files of the test machine. */
function createHome(conf: string): string {
  const home = createImageFolder();
  mkdirSync(join(home, '.config', 'pip'), { recursive: true });
  writeFileSync(join(home, '.config', 'pip', 'pip.conf'), conf);
  return home;
}

it('pip settings are read from files, with sections in order and multi-line values', () => {
  const home = createHome('');
  const conf = `; a comment
[global]
index-url = https://one.test/simple
extra-index-url =
    https://two.test/simple
    # not this
    https://user:secret@three.test/simple
find_links: ${join(home, 'none')} ${home}
[install]
index-url = https://four.test/simple
[freeze]
index-url = https://five.test/simple
`;
  writeFileSync(join(home, '.config', 'pip', 'pip.conf'), conf);
  expect(readPipSettings({ env: {}, home })).toEqual({
    index: 'https://four.test/simple',
    extraIndexes: ['https://two.test/simple', 'https://user:secret@three.test/simple'],
    wheelhouse: home,
  });
});

it('pip settings come from the environment before files, and only index URLs are accepted', () => {
  const home = createHome(
    '[global]\nindex-url = https://one.test/simple\nextra-index-url = file:///wheels\nfind-links = https://links.test\n',
  );
  expect(readPipSettings({ env: { PIP_INDEX_URL: 'https://two.test/simple' }, home })).toEqual({
    index: 'https://two.test/simple',
  });
  expect(readPipSettings({ env: { PIP_CONFIG_FILE: '/dev/null', PIP_FIND_LINKS: home }, home })).toEqual({
    ...pypi,
    wheelhouse: home,
  });
});
