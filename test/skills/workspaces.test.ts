import { blocks } from '@heddle/blocks';
import type { Json } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { storedSkills } from '@heddle/service/skills';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

interface Skill {
  id: string;
}

interface Preview {
  ready: boolean;
  previewFingerprint: string;
  bindings: { kind: string; sourceId: string; targetId: string | null }[];
  unresolvedBindings: { kind: string }[];
}

function agentWorkflow(skillId: string): Json {
  const fields = {
    model: 'local/scripted',
    messages: [{ role: 'user', content: 'Refund it.' }],
    skills: [{ skillId }],
  };
  return workflow([block('A', 'agent', fields)], ['Start -> A']);
}

/** Starts a service with a model that loads the first skill of an agent and responds with the content of the skill. */
async function setUp() {
  const server = await startModelServer(({ body }) => {
    const messages = body['messages'] as { role: string; content: string }[];
    const content = messages.find(({ role }) => role === 'tool')?.content;
    const [, name = ''] = /^- ([a-z-]+):/m.exec(messages[0]?.content ?? '') ?? [];
    return content === undefined
      ? { toolCalls: [{ name: 'load_skill', args: { name } }] }
      : { text: content };
  });
  onTestFinished(() => server.close());
  const store = await openServiceStore();
  const engine = await createEngine({
    ...tenantOptionsOf(store),
    blocks: blocks(),
    services: server.services,
    tenantSkills: storedSkills(store.database),
  });
  const api = await createTestApi({ engine, store });
  const otherWorkspaceId = await store.workspaces.createWorkspace('Other', api.userId);
  const createSkill = async (workspaceId: string, content: string): Promise<string> => {
    const body = { workspaceId, name: 'refund-orders', description: 'Refunds.', content };
    return (await api.call<Skill>('POST', '/api/v2/skills', { body })).data.id;
  };
  const run = async (definition: Json) => {
    const id = await api.deploy(definition);
    const { body } = await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    return JSON.stringify(body);
  };
  return { ...api, otherWorkspaceId, createSkill, run };
}

describe('skills of workspaces', () => {
  it('can be used only by workflows of their workspace, until they are deleted', async () => {
    const api = await setUp();
    const ownId = await api.createSkill(api.workspaceId, 'Ask first.');
    const otherId = await api.createSkill(api.otherWorkspaceId, 'Never refund.');
    expect(await api.run(agentWorkflow(ownId))).toContain('Ask first.');
    expect(await api.run(agentWorkflow('refund-orders'))).toContain('Ask first.');
    const refusalText = await api.run(agentWorkflow(otherId));
    expect(refusalText).toContain('which does not exist in its workspace');
    expect(refusalText).not.toContain('Never refund.');
    await api.call('DELETE', `/api/v2/skills/${ownId}?workspaceId=${api.workspaceId}`);
    expect(await api.run(agentWorkflow(ownId))).toContain('it was deleted or never existed');
  });

  it('are resolved when a workflow is imported: skills of the workspace are kept, and other skills need a target', async () => {
    const api = await setUp();
    const ownId = await api.createSkill(api.workspaceId, 'Ask first.');
    const otherId = await api.createSkill(api.otherWorkspaceId, 'Never refund.');
    const id = await api.createDraft(agentWorkflow(ownId));
    const exportResponse = await api.call<Json>(
      'GET',
      `/api/v2/workflows/${id}/export?includeReferences=true`,
    );
    expect(exportResponse.status).toBe(200);
    const requestPreview = (workspaceId: string, fields: object = {}) =>
      api.call<Preview>('POST', '/api/v2/workflows/import/preview', {
        body: { workspaceId, workflow: exportResponse.data, ...fields },
      });
    expect((await requestPreview(api.workspaceId)).data).toMatchObject({
      ready: true,
      bindings: [{ kind: 'skill', sourceId: ownId, targetId: ownId }],
    });
    const unresolvedPreview = (await requestPreview(api.otherWorkspaceId)).data;
    expect(unresolvedPreview.unresolvedBindings).toMatchObject([{ kind: 'skill' }]);
    for (const [targetId, ready] of [
      [otherId, true],
      [ownId, false],
    ] as const) {
      const mappings = [{ kind: 'skill', sourceId: ownId, targetId }];
      expect((await requestPreview(api.otherWorkspaceId, { mappings })).data.ready).toBe(ready);
    }
    const mappings = [{ kind: 'skill', sourceId: ownId, targetId: otherId }];
    const { previewFingerprint } = (await requestPreview(api.otherWorkspaceId, { mappings })).data;
    const importResponse = await api.call<{ id: string }>('POST', '/api/v2/workflows/import', {
      body: {
        ...{ workspaceId: api.otherWorkspaceId, workflow: exportResponse.data, mappings },
        ...{ requestId: crypto.randomUUID(), previewFingerprint },
      },
    });
    expect(importResponse.status).toBe(201);
    const draftResponse = await api.call('GET', `/api/v2/workflows/${importResponse.data.id}/state`);
    expect(JSON.stringify(draftResponse.body)).toContain(otherId);
  });
});
