import { openServiceStore } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../../../../test/support/data-folder.ts';
import { recordedIo } from '../../../../test/support/io.ts';
import { workspaceResources } from '../workspace-resources.ts';
import { addSkill, listSkills, removeSkill, showSkill } from './skills.ts';

const TEXT = '# Refunds\n\nAsk for the number of the order first.';

/** Creates a data folder with one workspace, as the first start of `heddle serve` does. */
async function openWorkspace() {
  const data = dataFolder();
  const store = await openServiceStore({ data });
  const { workspaceId = '' } = (await store.workspaces.bootstrap()) ?? {};
  await store.close();
  return { workspaceId, options: { data, json: true } };
}

it('heddle skills adds, replaces, lists, shows and removes skills', async () => {
  const { options } = await openWorkspace();
  const description = 'How to refund an order.';
  await expect(addSkill(recordedIo(TEXT), 'refund-orders', options)).rejects.toThrow(
    'A new skill needs a description',
  );
  await expect(addSkill(recordedIo(TEXT), 'Refunds', { ...options, description })).rejects.toThrow(
    'The name is invalid: a name must consist of lowercase letters',
  );
  await expect(addSkill(recordedIo(), 'refund-orders', options)).rejects.toThrow(
    'no value on standard input',
  );
  const add = recordedIo(`${TEXT}\n`);
  await addSkill(add, 'refund-orders', { ...options, description });
  const { data } = JSON.parse(add.stdout.text) as { data: { id: string } };
  expect(data).toMatchObject({ name: 'refund-orders', description, created: true });
  const replace = recordedIo('Ask.');
  await addSkill(replace, 'refund-orders', options);
  expect(JSON.parse(replace.stdout.text)).toMatchObject({
    data: { id: data.id, description, created: false },
  });
  const list = recordedIo();
  await listSkills(list, { ...options, json: false });
  expect(list.stdout.text).toContain('refund-orders');
  expect(list.stdout.text).toContain(description);
  const show = recordedIo();
  await showSkill(show, 'refund-orders', { ...options, json: false });
  expect(show.stdout.text).toBe('Ask.\n');
  await removeSkill(recordedIo(), 'refund-orders', options);
  for (const act of [showSkill, removeSkill])
    await expect(act(recordedIo(), 'refund-orders', options)).rejects.toThrow(
      'There is no skill refund-orders.',
    );
});

it('heddle run --workspace reads the skills of the workspace', async () => {
  const { workspaceId, options } = await openWorkspace();
  await addSkill(recordedIo(TEXT), 'refund-orders', { ...options, description: 'Refunds.' });
  const resources = await workspaceResources(options, workspaceId, (error) => {
    throw error;
  });
  onTestFinished(() => resources.close());
  const [skill] = await resources.skills.find(undefined, ['refund-orders', 'another']);
  expect(skill).toMatchObject({ name: 'refund-orders', description: 'Refunds.' });
  expect(await resources.skills.read(undefined, skill?.id ?? '')).toMatchObject({ content: TEXT });
});
