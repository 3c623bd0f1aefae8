import type { Json, JsonObject } from '@heddle/core';
import { expect } from 'vitest';
import type { FeedDb } from '../../../packages/service/src/triggers/feeds/store.ts';
import type { TestApiOptions } from '../../support/api.ts';
import { createTriggerWorkflow } from '../../support/trigger-workflow.ts';
import { openScheduleApi } from '../setup.ts';
import type { ScheduleApi } from '../setup.ts';
import { createRssDocument, startWebServer } from './source.ts';

/** A feed whose items a test adds, the newest first. */
export interface NewsFeed {
  url: string;
  items: { id: string; title?: string }[];
  /** The status of the feed's responses. */
  status: number;
  /** The feed responds when this promise resolves. */
  respondAfter: Promise<void>;
  requests: { path: string }[];
}

/** Starts a feed without items. It stops when the test ends. */
export async function startNewsFeed(): Promise<NewsFeed> {
  const server = await startWebServer((_request, response) => {
    void news.respondAfter.then(() => response.writeHead(news.status).end(createRssDocument(news.items)));
  });
  const news: NewsFeed = {
    ...{ url: server.url, items: [], status: 200, respondAfter: Promise.resolve() },
    requests: server.requests,
  };
  return news;
}

export interface FeedApi extends ScheduleApi {
  feedDb: FeedDb;
  /**
   * Deploys a workflow with a feed. `lastBlock` replaces properties of its last block. Returns the id of the workflow.
   */
  deployFeed(type: string, fields: JsonObject, lastBlock?: JsonObject): Promise<string>;
  /** Returns the inputs of all runs of a workflow, which are the outputs of its trigger, oldest run first. */
  listInputs(workflowId: string): Promise<JsonObject[]>;
  /** Waits until the source was polled at the current time. */
  waitForPoll(workflowId: string): Promise<void>;
}

/** Starts an API that polls sources on this machine. */
export async function openFeedApi(
  kind: 'sqlite' | 'postgres',
  options: TestApiOptions = {},
): Promise<FeedApi> {
  const feeds = { egress: { allowPrivate: true, ports: 'any' as const }, ...options.feeds };
  const api = await openScheduleApi(kind, '2026-01-01T00:00:00Z', { ...options, feeds });
  const feedDb = api.db as unknown as FeedDb;
  return {
    ...api,
    feedDb,
    deployFeed: (type, fields, lastBlock = {}) =>
      api.deploy(
        createTriggerWorkflow(fields as { [name: string]: Json }, {
          type,
          lastBlock: lastBlock as { [name: string]: Json },
        }),
      ),
    async listInputs(workflowId) {
      api.advanceTo(new Date(api.now()).toISOString());
      const rows = await feedDb
        .selectFrom('feed_items')
        .innerJoin('claims', 'claims.engine_id', 'feed_items.run_id')
        .select(['feed_items.run_id', 'claims.created_at'])
        .where('feed_items.workflow_id', '=', workflowId)
        .orderBy('claims.created_at')
        .execute();
      const runIds = rows.map(({ run_id: id }) => id ?? '');
      for (const id of runIds)
        await expect
          .poll(async () => (await api.engine.getRun(id).catch(() => undefined))?.status)
          .toMatch(/completed|failed|paused/);
      const logs = await Promise.all(runIds.map((id) => api.engine.getLogs(id)));
      return logs.map(([firstLog]) => firstLog?.output as JsonObject);
    },
    async waitForPoll(workflowId) {
      const isPolled = async (): Promise<boolean> => {
        const { health, nextDueAt } = await api.readTrigger(workflowId);
        const { lastCheckAt } = health as { lastCheckAt?: string | null };
        return lastCheckAt === new Date(api.now()).toISOString() && nextDueAt !== lastCheckAt;
      };
      await expect.poll(isPolled).toBe(true);
    },
  };
}
