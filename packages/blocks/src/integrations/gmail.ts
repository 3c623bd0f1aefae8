import type { Json, JsonObject } from '@heddle/core/blocks';
import { ArgumentError, plainText } from '../openapi/wire.ts';
import { arg, defineIntegration, integer, text } from './integration.ts';
import { googleErrors } from './google.ts';

const messageArguments = {
  to: text('Email addresses of the recipients, separated by commas', { required: true }),
  subject: text('Subject of the message'),
  body: text('Body of the message', { required: true }),
  contentType: text('Format of the body: text (default) or html', { schema: { enum: ['text', 'html'] } }),
  cc: text('Email addresses of the recipients in Cc, separated by commas'),
  bcc: text('Email addresses of the recipients in Bcc, separated by commas'),
  threadId: text('Id of the thread to which the message is added'),
  replyToMessageId: text('Value of the header Message-ID of the message to reply to'),
};

/** Returns the line of a header; no line without a value. Throws for a line break, which would begin another header. */
function headerLines(name: string, value: Json | undefined): string[] {
  if (value === undefined || value === null) return [];
  const line = plainText(value);
  if (/[\r\n\0]/.test(line)) throw new ArgumentError(`"${name.toLowerCase()}" contains a line break`);
  return [`${name}: ${/^[\x20-\x7e]*$/.test(line) ? line : encodedWords(line)}`];
}

/** Returns text that is not ASCII as encoded words (RFC 2047) of up to 75 characters. */
function encodedWords(line: string): string {
  const words: string[] = [];
  let wordText = '';
  for (const character of line) {
    if (Buffer.byteLength(wordText + character) > 42) {
      words.push(wordText);
      wordText = '';
    }
    wordText += character;
  }
  return [...words, wordText]
    .map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`)
    .join('\r\n ');
}

/** Returns the recipients of a list that is separated by commas. A comma in a quoted name is not a separator. */
function splitRecipients(list: string): string[] {
  const recipients: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let index = 0; index < list.length; index++) {
    if (isQuoted && list[index] === '\\') index++;
    else if (list[index] === '"') isQuoted = !isQuoted;
    else if (list[index] === ',' && !isQuoted) {
      recipients.push(list.slice(start, index));
      start = index + 1;
    }
  }
  recipients.push(list.slice(start));
  return recipients.map((recipient) => recipient.trim()).filter((recipient) => recipient !== '');
}

/** Returns the line of a header with email addresses; no line without a value. Encodes only the names of recipients. */
function addressLines(name: string, value: Json | undefined): string[] {
  if (value === undefined || value === null) return [];
  const argument = name.toLowerCase();
  if (/[\r\n\0]/.test(plainText(value))) throw new ArgumentError(`"${argument}" contains a line break`);
  const recipients = splitRecipients(plainText(value));
  const encodedRecipients = recipients.map((recipient) => {
    const addressStart = recipient.lastIndexOf('<');
    const [displayName, address] =
      addressStart < 0
        ? ['', recipient]
        : [recipient.slice(0, addressStart).trim(), recipient.slice(addressStart)];
    if (!/^[\x21-\x7e]+$/.test(address))
      throw new ArgumentError(`"${argument}" has an address with spaces or characters that are not ASCII`);
    const encodedName = /^[\x20-\x7e]*$/.test(displayName)
      ? displayName
      : encodedWords(displayName.replace(/^"(.*)"$/, '$1'));
    return encodedName === '' ? address : `${encodedName} ${address}`;
  });
  return [`${name}: ${encodedRecipients.join(', ')}`];
}

/** Returns the arguments with the whole message as `raw`: in the format of RFC 2822, in URL-safe Base64. */
function withRawMessage(args: JsonObject): JsonObject {
  const { to, cc, bcc, subject, body, contentType, replyToMessageId } = args;
  const lines = [
    ...addressLines('To', to),
    ...addressLines('Cc', cc),
    ...addressLines('Bcc', bcc),
    ...headerLines('Subject', subject),
    ...headerLines('In-Reply-To', replyToMessageId),
    ...headerLines('References', replyToMessageId),
    'MIME-Version: 1.0',
    `Content-Type: text/${contentType === 'html' ? 'html' : 'plain'}; charset=UTF-8`,
    'Content-Transfer-Encoding: base64',
    '',
    (
      Buffer.from(plainText(body ?? ''))
        .toString('base64')
        .match(/.{1,76}/g) ?? []
    ).join('\r\n'),
  ];
  return { ...args, raw: Buffer.from(lines.join('\r\n')).toString('base64url') };
}

export const integration = defineIntegration({
  service: 'gmail',
  title: 'Gmail',
  docsUrl: 'https://developers.google.com/workspace/gmail/api/reference/rest',
  baseUrl: 'https://gmail.googleapis.com',
  credential: {
    type: 'bearer',
    scopes: ['https://www.googleapis.com/auth/gmail.modify', 'https://www.googleapis.com/auth/gmail.send'],
  },
  answer: googleErrors,
  types: ['gmail', 'gmail_v2'],
  operations: {
    send_gmail: 'gmail_send',
    draft_gmail: 'gmail_draft',
    read_gmail: 'gmail_read',
    search_gmail: 'gmail_search',
    mark_read_gmail: 'gmail_mark_read',
    delete_gmail: 'gmail_delete',
  },
  tools: {
    gmail_send: {
      description: 'Sends a message.',
      method: 'POST',
      path: '/gmail/v1/users/me/messages/send',
      arguments: messageArguments,
      json: { raw: arg('raw'), threadId: arg('threadId') },
      prepare: withRawMessage,
      answer: { output: { id: 'id', threadId: 'threadId', labelIds: 'labelIds' } },
    },
    gmail_draft: {
      description: 'Saves a message as a draft.',
      method: 'POST',
      path: '/gmail/v1/users/me/drafts',
      arguments: messageArguments,
      json: { message: { raw: arg('raw'), threadId: arg('threadId') } },
      prepare: withRawMessage,
    },
    gmail_search: {
      description:
        'Finds messages with a search query. The query can contain the same words and operators as the search box of Gmail.',
      method: 'GET',
      path: '/gmail/v1/users/me/messages',
      arguments: {
        q: text('Search query, such as from:ada is:unread', { fields: ['query', 'searchQuery'] }),
        maxResults: integer('Number of messages per page, up to 500', [1, 500]),
        pageToken: text('Cursor of the page to fetch, from the field "nextPageToken" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'messages', cursor: 'nextPageToken', argument: 'pageToken', pages: 5 },
      answer: { output: { messages: 'messages', resultSizeEstimate: 'resultSizeEstimate' } },
    },
    gmail_read: {
      description: 'Returns a message.',
      method: 'GET',
      path: '/gmail/v1/users/me/messages/{id}',
      arguments: { id: text('Id of the message', { required: true, fields: ['messageId'] }) },
    },
    gmail_mark_read: {
      description: 'Marks a message as read.',
      method: 'POST',
      path: '/gmail/v1/users/me/messages/{id}/modify',
      arguments: {
        id: text('Id of the message', { required: true, fields: ['actionMessageId', 'messageId'] }),
      },
      json: { removeLabelIds: ['UNREAD'] },
      idempotent: true,
    },
    gmail_delete: {
      description: 'Moves a message to the trash.',
      method: 'POST',
      path: '/gmail/v1/users/me/messages/{id}/trash',
      arguments: {
        id: text('Id of the message', { required: true, fields: ['actionMessageId', 'messageId'] }),
      },
      json: {},
      idempotent: true,
    },
  },
});
