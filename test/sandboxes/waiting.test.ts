import { ImageError } from '@heddle/images';
import { openSandboxes, openServiceStore } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { createTestApi } from '../support/api.ts';
import { createFakeBuilder, openImages } from '../support/images.ts';

it('a process with its own images builds a sandbox when a block first needs the sandbox, and the block waits for the build', async () => {
  const store = await openServiceStore();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  // The process that serves the API has its own images.
  const apiImages = openImages({ javascript: createFakeBuilder() });
  const sandboxes = openSandboxes({ store, openImageStore: async () => apiImages, onError });
  const api = await createTestApi({ store, sandboxes });
  const { workspaceId } = api;
  const createSandbox = async (name: string): Promise<string> => {
    const body = { workspaceId, name, language: 'javascript', dependencies: [name] };
    return (await api.call<{ id: string }>('POST', '/api/v2/sandboxes', { body })).data.id;
  };
  const [alphaId, brokenId] = [await createSandbox('alpha'), await createSandbox('broken')];

  const builder = createFakeBuilder();
  const { promise: buildAllowed, resolve: allowBuild } = Promise.withResolvers<void>();
  const images = openImages({
    javascript: {
      ...builder,
      async resolve(spec, context) {
        await buildAllowed;
        if (spec.dependencies.includes('broken'))
          throw new ImageError('package_not_found', 'There is no package "broken".');
        return builder.resolve(spec, context);
      },
    },
  });
  const waitingSandboxes = openSandboxes({
    store,
    openImageStore: async () => images,
    onError,
    waitsForBuilds: true,
  });
  onTestFinished(async () => {
    await Promise.all([sandboxes.close(), waitingSandboxes.close()]);
    expect(errors).toEqual([]);
  });
  const openedImages = Promise.all([1, 2].map(() => waitingSandboxes.images.open(alphaId, workspaceId)));
  const buildError = waitingSandboxes.images.open(brokenId, workspaceId).catch((error: unknown) => error);
  const otherWorkspaceId = await store.workspaces.createWorkspace('Other', api.userId);
  await expect(waitingSandboxes.images.open(alphaId, otherWorkspaceId)).rejects.toMatchObject({
    code: 'IMAGE_NOT_FOUND',
  });
  allowBuild();
  expect(await openedImages).toMatchObject([
    { features: { modules: ['alpha'] } },
    { language: 'javascript' },
  ]);
  expect(builder.calls).toEqual(['resolve', 'assemble']);
  expect(await buildError).toMatchObject({
    code: 'IMAGE_FAILED',
    message: expect.stringContaining('The sandbox "broken" could not be built (package_not_found)') as string,
  });
});

it('a process with its own images removes those of sandboxes that another process has deleted, and no others', async () => {
  const store = await openServiceStore();
  const onError = (error: unknown): void => expect.unreachable(String(error));
  const apiImages = openImages({ javascript: createFakeBuilder() });
  const sandboxes = openSandboxes({ store, openImageStore: async () => apiImages, onError });
  const api = await createTestApi({ store, sandboxes });
  const { workspaceId } = api;
  const images = openImages({ javascript: createFakeBuilder() });
  const otherSandboxes = openSandboxes({
    ...{ store, onError, openImageStore: async () => images },
    waitsForBuilds: true,
  });
  onTestFinished(async () => {
    await Promise.all([sandboxes.close(), otherSandboxes.close()]);
  });
  const specOf = (name: string) => ({ language: 'javascript', dependencies: [name] });
  const idsToDelete: string[] = [];
  for (const name of ['deleted', 'kept', 'built', 'built-later']) {
    // The operator needs this image too, for runs without a server.
    if (name === 'built') await images.build(specOf(name));
    const body = { workspaceId, name, ...specOf(name) };
    const { data } = await api.call<{ id: string }>('POST', '/api/v2/sandboxes', { body });
    await otherSandboxes.images.open(data.id, workspaceId);
    if (name === 'built-later') await images.build(specOf(name));
    if (name !== 'kept') idsToDelete.push(data.id);
  }
  const listNames = async () => (await images.list()).flatMap(({ spec }) => spec.dependencies).toSorted();
  await otherSandboxes.releaseUnused();
  expect(await listNames()).toEqual(['built', 'built-later', 'deleted', 'kept']);
  for (const id of idsToDelete)
    await api.call('DELETE', `/api/v2/sandboxes/${id}?workspaceId=${workspaceId}`);
  await otherSandboxes.releaseUnused();
  expect(await listNames()).toEqual(['built', 'built-later', 'kept']);
});
