import { homedir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createImageFolder } from '../../../../test/support/images.ts';
import { buildPythonImage } from '../../../../test/support/python/image.ts';
import { writeSourceWheel } from '../../../../test/support/python/source-wheel.ts';
import { isFullRun, reportSkipped } from '../../../../test/support/scale.ts';
import { readPipSettings } from './pip-settings.ts';

const pythonSettings = readPipSettings({ env: process.env, home: homedir() });
const { index = '' } = pythonSettings;

/** Returns why the index cannot be used, or undefined. */
async function findUnreachableReason(): Promise<string | undefined> {
  try {
    const { status } = await fetch(`${index}six/`, { signal: AbortSignal.timeout(10_000) });
    return status === 200 ? undefined : `it responds with ${status}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

const reason = await findUnreachableReason();
const NO_WHEEL = /^no_compatible_wheel: numpy \d.* has no wheel for Python in the isolate .*native runtime/;

describe.skipIf(reason !== undefined)(
  `packages from the real index${reason === undefined ? '' : ` (unreachable: ${reason})`}`,
  () => {
    it('pydantic, msgpack and jiter work, with their extension modules', { timeout: 300_000 }, async () => {
      const { record, images, run } = await buildPythonImage(
        ['jiter', 'msgpack', 'pydantic>=2'],
        pythonSettings,
      );
      expect(record.warnings).toEqual([]);
      // Extension modules are not in the snapshot; every run loads them after the restore.
      const { features } = await images.open(record.id);
      expect(features).toEqual({ snapshot: true, modules: ['jiter', 'msgpack', 'pydantic'] });
      const code = `
import sys
loaded = [name in sys.modules for name in ("annotated_types", "msgpack._cmsgpack", "pydantic_core._pydantic_core")]
import msgpack, pydantic_core
return [loaded, type(sys.modules["msgpack._cmsgpack"].__loader__).__name__, pydantic_core.to_json([1]).decode()]`;
      for (const outcome of [await run(code), await run(code)])
        expect(outcome).toMatchObject({ ok: true, json: '[[true,false,false],"ExtensionFileLoader","[1]"]' });
      const outcome = await run(`
from pydantic import BaseModel, Field, ValidationError
import jiter, msgpack
class Item(BaseModel):
    count: int = Field(gt=0)
class Order(BaseModel):
    id: int
    items: list[Item]
order = Order.model_validate_json('{"id": "7", "items": [{"count": 1}]}')
try:
    Order(id="x", items=[{"count": 0}])
except ValidationError as error:
    faults = error.error_count()
return [order.model_dump(), faults, msgpack.unpackb(msgpack.packb([1, 2.5])), msgpack.Packer.__module__, jiter.from_json(b'{"a": [1]}')]`);
      expect(outcome).toMatchObject({ ok: true });
      expect(JSON.parse(outcome.ok ? outcome.json : '')).toEqual([
        { id: 7, items: [{ count: 1 }] },
        2,
        [1, 2.5],
        'msgpack._cmsgpack',
        { a: [1] },
      ]);
    });

    if (!isFullRun) reportSkipped('beautifulsoup4, jinja2 and pyyaml of the real index');
    it.runIf(isFullRun)(
      'beautifulsoup4, jinja2 and pyyaml work with pure Python wheels from a wheelhouse',
      { timeout: 300_000 },
      async () => {
        const wheelhouse = createImageFolder();
        await writeSourceWheel({ name: 'markupsafe', version: '3.0.3', folder: 'src' }, index, wheelhouse);
        await writeSourceWheel({ name: 'pyyaml', version: '6.0.3', folder: 'lib' }, index, wheelhouse);
        const { run } = await buildPythonImage(['beautifulsoup4', 'jinja2', 'pyyaml'], {
          ...pythonSettings,
          wheelhouse,
        });
        const outcome = await run(`
from bs4 import BeautifulSoup
from jinja2 import Environment
import yaml
page = Environment(autoescape=True).from_string("<ul>{% for x in xs %}<li>{{ x }}</li>{% endfor %}</ul>").render(xs=["<a>", "b"])
items = [item.text for item in BeautifulSoup(page, "html.parser").select("li")]
return [page, items, yaml.safe_load("a: [1, 2]\\nb: {c: null}"), yaml.safe_dump({"k": [1]})]`);
        expect(outcome).toMatchObject({ ok: true });
        expect(JSON.parse(outcome.ok ? outcome.json : '')).toEqual([
          '<ul><li>&lt;a&gt;</li><li>b</li></ul>',
          ['<a>', 'b'],
          { a: [1, 2], b: { c: null } },
          'k:\n- 1\n',
        ]);
      },
    );

    it('numpy fails without a wheel, and the message contains a hint', { timeout: 60_000 }, async () => {
      await expect(buildPythonImage(['numpy'], pythonSettings)).rejects.toThrow(NO_WHEEL);
    });
  },
);
