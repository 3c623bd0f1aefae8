import { data, defineIntegration, flag, integer, bodyMembers, text } from './integration.ts';

const chat_id = text('Id of the chat, or the name of a channel such as @news', {
  required: true,
  fields: ['chatId'],
});
const caption = text('Caption, up to 1024 characters');
const parse_mode = text('Format of the text: HTML, Markdown or MarkdownV2', {
  fields: ['parseMode'],
  schema: { enum: ['HTML', 'Markdown', 'MarkdownV2'] },
});
const fileArgument = (noun: string, field: string) =>
  text(`URL of the ${noun}, or the file_id of the ${noun} on Telegram`, { required: true, fields: [field] });
const messageAnswer = { output: { message_id: 'result.message_id', chat: 'result.chat', message: 'result' } };

export const integration = defineIntegration({
  service: 'telegram',
  title: 'Telegram',
  docsUrl: 'https://core.telegram.org/bots/api',
  baseUrl: 'https://api.telegram.org',
  credential: { type: 'key', in: 'path', name: 'token' },
  answer: { ok: 'ok', error: 'description' },
  types: ['telegram'],
  operations: {
    telegram_message: 'telegram_message',
    telegram_send_photo: 'telegram_send_photo',
    telegram_send_video: 'telegram_send_video',
    telegram_send_audio: 'telegram_send_audio',
    telegram_delete_message: 'telegram_delete_message',
  },
  tools: {
    telegram_message: {
      description: 'Sends a message to a chat.',
      method: 'POST',
      path: '/bot{token}/sendMessage',
      arguments: {
        chat_id,
        text: text('Text of the message, up to 4096 characters', { required: true }),
        parse_mode,
        disable_notification: flag('Whether to send the message without a sound', {
          fields: ['disableNotification'],
        }),
        reply_markup: data(
          { type: 'object' },
          'Keyboard that is shown with the message, in the JSON format of the Telegram API',
          {
            fields: ['replyMarkup'],
          },
        ),
      },
      json: bodyMembers('chat_id', 'text', 'parse_mode', 'disable_notification', 'reply_markup'),
      answer: messageAnswer,
    },
    telegram_send_photo: {
      description: 'Sends a photo to a chat.',
      method: 'POST',
      path: '/bot{token}/sendPhoto',
      arguments: { chat_id, photo: fileArgument('photo', 'photo'), caption, parse_mode },
      json: bodyMembers('chat_id', 'photo', 'caption', 'parse_mode'),
      answer: messageAnswer,
    },
    telegram_send_video: {
      description: 'Sends a video to a chat.',
      method: 'POST',
      path: '/bot{token}/sendVideo',
      arguments: { chat_id, video: fileArgument('video', 'video'), caption, parse_mode },
      json: bodyMembers('chat_id', 'video', 'caption', 'parse_mode'),
      answer: messageAnswer,
    },
    telegram_send_audio: {
      description: 'Sends an audio file to a chat.',
      method: 'POST',
      path: '/bot{token}/sendAudio',
      arguments: { chat_id, audio: fileArgument('audio file', 'audio'), caption, parse_mode },
      json: bodyMembers('chat_id', 'audio', 'caption', 'parse_mode'),
      answer: messageAnswer,
    },
    telegram_delete_message: {
      description: 'Deletes a message.',
      method: 'POST',
      path: '/bot{token}/deleteMessage',
      arguments: {
        chat_id,
        message_id: integer('Id of the message', [1, 2 ** 31 - 1], { required: true, fields: ['messageId'] }),
      },
      json: bodyMembers('chat_id', 'message_id'),
      answer: { output: { deleted: 'result' } },
    },
  },
});
