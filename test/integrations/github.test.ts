import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { startServices } from './services.ts';

async function startGithub(options: EngineOptions = {}) {
  const services = await startServices();
  const engine = await createEngine({
    blocks: blocks(),
    services: services.baseUrls,
    credentials: { github: 'token-of-github' },
    ...options,
  });
  onTestFinished(async () => {
    await engine.close({ graceMs: 0 });
    await services.close();
  });
  const call = (operation: string, fields: JsonObject = {}) =>
    engine.execute({
      workflow: workflow(
        [block('A', 'github', { operation, owner: 'ada', repo: 'loom', ...fields })],
        ['Start -> A'],
      ),
    });
  return { ...services, call };
}

describe('GitHub blocks', () => {
  it('create issues and comments, and read them', async () => {
    const { call } = await startGithub();
    expect((await call('github_create_issue', { title: 'New' })).output).toMatchObject({ number: 8 });
    expect((await call('github_get_issue', { issue_number: 8 })).output).toMatchObject({ title: 'New' });
    expect((await call('github_issue_comment', { issue_number: 8, body: 'Yes' })).output).toMatchObject({
      body: 'Yes',
    });
    expect((await call('github_create_pr', { title: 'P', head: 'x', base: 'main' })).output).toMatchObject({
      number: 9,
    });
    expect((await call('github_pr', { pullNumber: 6 })).output).toMatchObject({ title: 'Mergeable' });
    expect((await call('github_merge_pr', { pullNumber: 6 })).output).toMatchObject({ merged: true });
    expect((await call('github_repo_info')).output).toMatchObject({ full_name: 'ada/loom' });
    expect((await call('github_get_file_content', { path: 'README.md' })).output).toMatchObject({
      encoding: 'base64',
    });
  });

  it('follow the links of a list to its last page, or read one requested page', async () => {
    const { call, requests } = await startGithub();
    const listResult = await call('github_list_issues', { per_page: 3 });
    expect((listResult.output as { data: { number: number }[] }).data.map(({ number }) => number)).toEqual([
      1, 2, 3, 4, 5, 6, 7,
    ]);
    expect(requests.map(({ query }) => query.get('page'))).toEqual([null, '2', '3']);
    const secondPage = await call('github_list_prs', { per_page: 1, page: 2 });
    expect((secondPage.output as { data: object[] }).data).toMatchObject([{ number: 7 }]);
    expect(requests).toHaveLength(4);
  });

  it.each<[string, string, JsonObject, object]>([
    [
      'does not exist',
      'github_get_issue',
      { issue_number: 99 },
      { details: { status: 404, kind: 'not_found' } },
    ],
    [
      'lacks a required field',
      'github_issue_comment',
      { issue_number: 1, body: ' ' },
      { code: 'BLOCK_CONFIG_INVALID' },
    ],
    [
      'cannot be merged',
      'github_merge_pr',
      { pullNumber: 7 },
      { details: { status: 405, kind: 'conflict' } },
    ],
    [
      'belongs to another account',
      'github_repo_info',
      { repo: 'private' },
      { details: { kind: 'not_found' } },
    ],
  ])('fail with a clear message if the resource %s', async (_title, operation, fields, expected) => {
    const { error } = await (await startGithub()).call(operation, fields);
    expect(error).toMatchObject(expected);
    expect(error?.message).toMatch(/missing required fields: body|Not Found|not mergeable/);
  });

  it('report that the service rejects the credential', async () => {
    const { call } = await startGithub({ credentials: { github: 'wrong-token' } });
    const { error } = await call('github_repo_info');
    expect(error).toMatchObject({ details: { status: 401, kind: 'auth' } });
    expect(error?.message).toMatch(/Bad credentials.*"github" does not accept the credential/);
  });

  it('wait until the end of a rate limit', async () => {
    const clock = new TestClock(0);
    const { call, rateLimitNext, requests } = await startGithub({ clock });
    rateLimitNext('github', 1);
    const resultPromise = call('github_create_issue', { title: 'Once' });
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect(await resultPromise).toMatchObject({ status: 'completed' });
    expect(requests).toHaveLength(2);
  });
});
