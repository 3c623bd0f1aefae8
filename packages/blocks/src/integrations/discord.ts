import { defineIntegration, integer, bodyMembers, text } from './integration.ts';

const channel_id = text('Id of the channel', {
  required: true,
  fields: ['channelId'],
  schema: { pattern: '^\\d{1,25}$' },
});

export const integration = defineIntegration({
  service: 'discord',
  title: 'Discord',
  docsUrl: 'https://discord.com/developers/docs/reference',
  baseUrl: 'https://discord.com/api/v10',
  // Tokens of bots include their prefix: `Bot TOKEN`.
  credential: { type: 'key', in: 'header', name: 'authorization' },
  headers: { 'user-agent': 'DiscordBot (heddle, 1)' },
  types: ['discord'],
  operations: {
    discord_send_message: 'discord_send_message',
    discord_get_messages: 'discord_get_messages',
    discord_get_server: 'discord_get_server',
  },
  tools: {
    discord_send_message: {
      description: 'Sends a message to a channel.',
      method: 'POST',
      path: '/channels/{channel_id}/messages',
      arguments: {
        channel_id,
        content: text('Text of the message, up to 2000 characters', {
          required: true,
          schema: { maxLength: 2000 },
        }),
      },
      json: bodyMembers('content'),
    },
    discord_get_messages: {
      description: 'Returns the newest messages of a channel.',
      method: 'GET',
      path: '/channels/{channel_id}/messages',
      arguments: { channel_id, limit: integer('Number of messages, up to 100', [1, 100]) },
    },
    discord_get_server: {
      description: 'Returns a server.',
      method: 'GET',
      path: '/guilds/{guild_id}',
      arguments: {
        guild_id: text('Id of the server', {
          required: true,
          fields: ['serverId'],
          schema: { pattern: '^\\d{1,25}$' },
        }),
      },
    },
  },
});
