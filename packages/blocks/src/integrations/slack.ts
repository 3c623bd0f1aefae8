import { arg, data, defineIntegration, integer, bodyMembers, text } from './integration.ts';

const channel = text('Id or name of the channel, such as C0123456789 or #general', {
  required: true,
  fields: ['channel', 'manualChannel'],
});
const timestampArgument = (field: string) =>
  text('Timestamp (ts) of the message', {
    required: true,
    fields: [field],
    schema: { pattern: '^\\d+\\.\\d+$' },
  });

export const integration = defineIntegration({
  service: 'slack',
  title: 'Slack',
  docsUrl: 'https://docs.slack.dev/reference/methods',
  baseUrl: 'https://slack.com/api',
  credential: { type: 'bearer', scopes: ['chat:write', 'channels:history', 'channels:read', 'users:read'] },
  // Failures have status 200, except rate limits, which have 429 and Retry-After.
  answer: {
    ok: 'ok',
    error: 'error',
    code: 'error',
    errors: {
      rate: ['ratelimited', 'rate_limited'],
      auth: [
        ...[
          'not_authed',
          'invalid_auth',
          'account_inactive',
          'token_revoked',
          'token_expired',
          'no_permission',
        ],
        ...['missing_scope', 'not_allowed_token_type', 'ekm_access_denied', 'restricted_action'],
      ],
      not_found: [
        'channel_not_found',
        'user_not_found',
        'users_not_found',
        'message_not_found',
        'thread_not_found',
      ],
      conflict: ['already_reacted', 'already_in_channel', 'is_archived'],
      temporary: [
        'internal_error',
        'fatal_error',
        'service_unavailable',
        'request_timeout',
        'team_added_to_org',
      ],
      invalid: [
        ...[
          'no_text',
          'msg_too_long',
          'invalid_arguments',
          'invalid_arg_name',
          'invalid_cursor',
          'invalid_name',
        ],
        ...['invalid_blocks', 'invalid_form_data', 'unknown_method', 'not_in_channel', 'cant_update_message'],
      ],
    },
  },
  types: ['slack'],
  operations: {
    send: 'slack_message',
    update: 'slack_update_message',
    delete: 'slack_delete_message',
    read: 'slack_message_reader',
    list_channels: 'slack_list_channels',
    list_users: 'slack_list_users',
    get_user: 'slack_get_user',
    react: 'slack_add_reaction',
  },
  tools: {
    slack_message: {
      description: 'Sends a message to a channel or a user.',
      method: 'POST',
      path: '/chat.postMessage',
      arguments: {
        channel: text('Id or name of the channel, or id of a user for a direct message', {
          required: true,
          fields: ['channel', 'manualChannel', 'dmUserId', 'manualDmUserId'],
        }),
        text: text('Text of the message, in mrkdwn (the markup of Slack)', { required: true }),
        thread_ts: text('Timestamp (ts) of the message to reply to', { fields: ['threadTs'] }),
        blocks: data(
          { type: 'array', items: { type: 'object' } },
          'Layout of the message, as a list of blocks in the format of Slack Block Kit',
        ),
      },
      json: bodyMembers('channel', 'text', 'thread_ts', 'blocks'),
      answer: { output: { ts: 'ts', channel: 'channel', message: 'message' } },
    },
    slack_update_message: {
      description: 'Updates the text of a message.',
      method: 'POST',
      path: '/chat.update',
      arguments: {
        channel,
        ts: timestampArgument('updateTimestamp'),
        text: text('New text of the message', { required: true, fields: ['updateText'] }),
      },
      json: bodyMembers('channel', 'ts', 'text'),
      idempotent: true,
      answer: { output: { ts: 'ts', channel: 'channel', text: 'text' } },
    },
    slack_delete_message: {
      description: 'Deletes a message.',
      method: 'POST',
      path: '/chat.delete',
      arguments: { channel, ts: timestampArgument('deleteTimestamp') },
      json: bodyMembers('channel', 'ts'),
      answer: { output: { ts: 'ts', channel: 'channel' } },
    },
    slack_message_reader: {
      description: 'Returns the newest messages of a channel.',
      method: 'GET',
      path: '/conversations.history',
      arguments: {
        channel,
        limit: integer('Number of messages per page, up to 200', [1, 200]),
        oldest: text('Timestamp (ts); only messages after this timestamp are returned'),
        cursor: text('Cursor of the page to fetch, from the field "next_cursor" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'messages', cursor: 'response_metadata.next_cursor', argument: 'cursor', pages: 5 },
      answer: { output: { messages: 'messages' } },
    },
    slack_list_channels: {
      description: 'Lists channels.',
      method: 'GET',
      path: '/conversations.list',
      query: { exclude_archived: 'true' },
      arguments: {
        limit: integer('Number of channels per page, up to 1000', [1, 1000], { fields: ['channelLimit'] }),
        cursor: text('Cursor of the page to fetch, from the field "next_cursor" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'channels', cursor: 'response_metadata.next_cursor', argument: 'cursor', pages: 10 },
      answer: { output: { channels: 'channels' } },
    },
    slack_list_users: {
      description: 'Lists the users of the Slack workspace.',
      method: 'GET',
      path: '/users.list',
      arguments: {
        limit: integer('Number of users per page, up to 200', [1, 200], { fields: ['userLimit'] }),
        cursor: text('Cursor of the page to fetch, from the field "next_cursor" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'members', cursor: 'response_metadata.next_cursor', argument: 'cursor', pages: 10 },
      answer: { output: { users: 'members' } },
    },
    slack_get_user: {
      description: 'Returns a user.',
      method: 'GET',
      path: '/users.info',
      arguments: { user: text('Id of the user', { required: true, fields: ['userId', 'manualUserId'] }) },
      answer: { output: { user: 'user' } },
    },
    slack_add_reaction: {
      description: 'Adds a reaction to a message.',
      method: 'POST',
      path: '/reactions.add',
      arguments: {
        channel,
        timestamp: timestampArgument('reactionTimestamp'),
        name: text('Name of the emoji without colons', { required: true, fields: ['emojiName'] }),
      },
      json: { channel: arg('channel'), timestamp: arg('timestamp'), name: arg('name') },
    },
  },
});
