import type { Area, AreaContext } from '@heddle/api';
import type { ServiceStore } from '../store/open.ts';
import {
  deleteChatDeployment,
  getChatDeployment,
  listChatDeployments,
  replaceChatDeployment,
} from './operations.ts';
import type { ChatServices } from './operations.ts';
import { CHAT_MIGRATIONS } from './tables.ts';
import type { Db } from './tables.ts';
import { pageHandlers } from './handlers.ts';

const CHAT_OPERATIONS = {
  getChatDeployment,
  replaceChatDeployment,
  deleteChatDeployment,
  listChatDeployments,
} as const;

/**
 * Returns the area (a module of API operations with its own tables) of chats and forms: their deployments, their pages,
 * and the runs that people start on them.
 */
export function chats({
  store,
}: {
  store: ServiceStore;
}): Area<AreaContext & ChatServices, typeof CHAT_OPERATIONS> {
  return {
    name: 'chats',
    operations: CHAT_OPERATIONS,
    migrations: CHAT_MIGRATIONS,
    services: (context) => ({ ...context, store, db: context.database as Db }),
    handlers: (services) => pageHandlers(services),
  };
}
