import { ImageError } from '@heddle/images';
import { openSandboxes, openServiceStore } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { testApi } from '../support/api.ts';
import { fakeBuilder, openImages } from '../support/images.ts';

it('a process with its own images builds a sandbox when a block first needs the sandbox, and the block waits for the build', async () => {
  const store = await openServiceStore();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  // The process that serves the API has its own images.
  const apiImages = openImages({ javascript: fakeBuilder() });
  const sandboxes = openSandboxes({ store, openImages: async () => apiImages, onError });
  const api = await testApi({ store, sandboxes });
  const { workspaceId } = api;
  const create = async (name: string): Promise<string> => {
    const body = { workspaceId, name, language: 'javascript', dependencies: [name] };
    return (await api.call<{ id: string }>('POST', '/api/v2/sandboxes', { body })).data.id;
  };
  const [alphaId, brokenId] = [await create('alpha'), await create('broken')];

  const builder = fakeBuilder();
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>();
  const images = openImages({
    javascript: {
      ...builder,
      async resolve(spec, context) {
        await allowed;
        if (spec.dependencies.includes('broken'))
          throw new ImageError('package_not_found', 'There is no package "broken".');
        return builder.resolve(spec, context);
      },
    },
  });
  const waitingSandboxes = openSandboxes({
    store,
    openImages: async () => images,
    onError,
    waitsForBuilds: true,
  });
  onTestFinished(async () => {
    await Promise.all([sandboxes.close(), waitingSandboxes.close()]);
    expect(errors).toEqual([]);
  });
  const opened = Promise.all([1, 2].map(() => waitingSandboxes.images.open(alphaId, workspaceId)));
  const failed = waitingSandboxes.images.open(brokenId, workspaceId).catch((error: unknown) => error);
  const other = await store.workspaces.createWorkspace('Other', api.userId);
  await expect(waitingSandboxes.images.open(alphaId, other)).rejects.toMatchObject({
    code: 'IMAGE_NOT_FOUND',
  });
  allow();
  expect(await opened).toMatchObject([{ features: { modules: ['alpha'] } }, { language: 'javascript' }]);
  expect(builder.calls).toEqual(['resolve', 'assemble']);
  expect(await failed).toMatchObject({
    code: 'IMAGE_FAILED',
    message: expect.stringContaining('The sandbox "broken" could not be built (package_not_found)') as string,
  });
});

it('a process with its own images removes those of sandboxes that another process has deleted, and no others', async () => {
  const store = await openServiceStore();
  const onError = (error: unknown): void => expect.unreachable(String(error));
  const apiImages = openImages({ javascript: fakeBuilder() });
  const sandboxes = openSandboxes({ store, openImages: async () => apiImages, onError });
  const api = await testApi({ store, sandboxes });
  const { workspaceId } = api;
  const images = openImages({ javascript: fakeBuilder() });
  const otherSandboxes = openSandboxes({
    ...{ store, onError, openImages: async () => images },
    waitsForBuilds: true,
  });
  onTestFinished(async () => {
    await Promise.all([sandboxes.close(), otherSandboxes.close()]);
  });
  const specOf = (name: string) => ({ language: 'javascript', dependencies: [name] });
  const ids: string[] = [];
  for (const name of ['deleted', 'kept', 'built', 'built-later']) {
    // The operator needs this image too, for runs without a server.
    if (name === 'built') await images.build(specOf(name));
    const body = { workspaceId, name, ...specOf(name) };
    const { data } = await api.call<{ id: string }>('POST', '/api/v2/sandboxes', { body });
    await otherSandboxes.images.open(data.id, workspaceId);
    if (name === 'built-later') await images.build(specOf(name));
    if (name !== 'kept') ids.push(data.id);
  }
  const listNames = async () => (await images.list()).flatMap(({ spec }) => spec.dependencies).toSorted();
  await otherSandboxes.releaseUnused();
  expect(await listNames()).toEqual(['built', 'built-later', 'deleted', 'kept']);
  for (const id of ids) await api.call('DELETE', `/api/v2/sandboxes/${id}?workspaceId=${workspaceId}`);
  await otherSandboxes.releaseUnused();
  expect(await listNames()).toEqual(['built', 'built-later', 'kept']);
});
