import { openServiceStore } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { openWorkspaceResources } from '../workspace-resources.ts';
import { addSkill, listSkills, removeSkill, showSkill } from './skills.ts';

const TEXT = '# Refunds\n\nAsk for the number of the order first.';

/** Creates a data folder with one workspace, as the first start of `heddle serve` does. */
async function createWorkspace() {
  const data = createDataFolder();
  const store = await openServiceStore({ data });
  const { workspaceId = '' } = (await store.workspaces.bootstrap()) ?? {};
  await store.close();
  return { workspaceId, options: { data, json: true } };
}

it('heddle skills adds, replaces, lists, shows and removes skills', async () => {
  const { options } = await createWorkspace();
  const description = 'How to refund an order.';
  await expect(addSkill(createRecordingIo(TEXT), 'refund-orders', options)).rejects.toThrow(
    'A new skill needs a description',
  );
  await expect(addSkill(createRecordingIo(TEXT), 'Refunds', { ...options, description })).rejects.toThrow(
    'The name is invalid: a name must consist of lowercase letters',
  );
  await expect(addSkill(createRecordingIo(), 'refund-orders', options)).rejects.toThrow(
    'no value on standard input',
  );
  const addIo = createRecordingIo(`${TEXT}\n`);
  await addSkill(addIo, 'refund-orders', { ...options, description });
  const { data } = JSON.parse(addIo.stdout.text) as { data: { id: string } };
  expect(data).toMatchObject({ name: 'refund-orders', description, created: true });
  const replaceIo = createRecordingIo('Ask.');
  await addSkill(replaceIo, 'refund-orders', options);
  expect(JSON.parse(replaceIo.stdout.text)).toMatchObject({
    data: { id: data.id, description, created: false },
  });
  const listIo = createRecordingIo();
  await listSkills(listIo, { ...options, json: false });
  expect(listIo.stdout.text).toContain('refund-orders');
  expect(listIo.stdout.text).toContain(description);
  const showIo = createRecordingIo();
  await showSkill(showIo, 'refund-orders', { ...options, json: false });
  expect(showIo.stdout.text).toBe('Ask.\n');
  await removeSkill(createRecordingIo(), 'refund-orders', options);
  for (const command of [showSkill, removeSkill])
    await expect(command(createRecordingIo(), 'refund-orders', options)).rejects.toThrow(
      'There is no skill refund-orders.',
    );
});

it('heddle run --workspace reads the skills of the workspace', async () => {
  const { workspaceId, options } = await createWorkspace();
  await addSkill(createRecordingIo(TEXT), 'refund-orders', { ...options, description: 'Refunds.' });
  const resources = await openWorkspaceResources(options, workspaceId, (error) => {
    throw error;
  });
  onTestFinished(() => resources.close());
  const [skill] = await resources.skills.find(undefined, ['refund-orders', 'another']);
  expect(skill).toMatchObject({ name: 'refund-orders', description: 'Refunds.' });
  expect(await resources.skills.read(undefined, skill?.id ?? '')).toMatchObject({ content: TEXT });
});
