import { blocks } from '@heddle/blocks';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { MemoryFiles } from '../../support/tenant-files.ts';
import { MemoryKnowledge } from '../../support/tenant-knowledge.ts';
import { block, workflow } from '../../support/workflow.ts';
import { callsIn, startModelWithCalls } from './workflow-tools.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const SKILL = { id: '1f0c', name: 'weaving', description: 'How to weave.', content: 'Over, then under.' };

/** Defines the tests of the data that the host stores for tenants: files, knowledge bases and skills. */
export function describeTenantData(makeRuntime: MakeRuntime): void {
  describe('data of the tenant', () => {
    it('belongs to the tenant of the run, for blocks and for agents', async () => {
      const files = new MemoryFiles();
      const knowledge = new MemoryKnowledge();
      for (const tenant of ['mine', 'theirs']) knowledge.addKnowledgeBase(tenant, `kb of ${tenant}`);
      const foreignFileId = await files.put('theirs', 'secret.txt', 'Buy low.');
      const model = await startModelWithCalls([
        { name: 'load_skill', args: { name: 'weaving' } },
        { name: 'file_append', args: { file: 'log.txt', content: ' two' } },
        { name: 'knowledge_search', args: { knowledgeBaseId: 'kb of mine', query: 'looms' } },
        { name: 'knowledge_search', args: { knowledgeBaseId: 'kb of theirs', query: 'looms' } },
        { name: 'file_append', args: { file: foreignFileId, content: 'x' } },
      ]);
      const options: EngineOptions = {
        ...{ ...model.options, blocks: blocks(), tenant: () => 'mine' },
        ...{ tenantFiles: files, tenantKnowledge: knowledge },
        tenantSkills: {
          find: (tenant) => (tenant === 'mine' ? [SKILL] : []),
          read: (tenant) => (tenant === 'mine' ? SKILL : undefined),
        },
      };
      const engine = await makeRuntime().open(options);
      const testBlocks = [
        block('File', 'file_v5', { operation: 'file_write', fileName: 'log.txt', content: 'one' }),
        block('Doc', 'knowledge', {
          operation: 'create_document',
          knowledgeBaseId: 'kb of mine',
          name: '<file.name>',
          content: 'Looms weave.',
        }),
        block('A', 'agent', {
          model: 'local/scripted',
          messages: [{ role: 'user', content: 'Go.' }],
          skills: [SKILL.id],
          tools: ['file_append', 'search'].map((operation) => ({
            type: operation === 'search' ? 'knowledge' : 'file_v5',
            operation,
            params: {},
          })),
        }),
      ];
      const result = await engine.execute({
        workflow: workflow(testBlocks, ['Start -> File', 'File -> Doc', 'Doc -> A']),
      });
      expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      expect(callsIn(result.output)).toMatchObject([
        { success: true, result: SKILL.content },
        { success: true, result: { name: 'log.txt', size: 7 } },
        { success: true, result: { results: [{ documentName: 'log.txt', content: 'Looms weave.' }] } },
        { success: false, result: 'The workspace has no knowledge base "kb of theirs".' },
        { success: false },
      ]);
      expect(files.readText('mine', 'log.txt')).toBe('one two');
      expect(files.readText('theirs', 'secret.txt')).toBe('Buy low.');
    });
  });
}
