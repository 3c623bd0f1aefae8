import { arg, data, defineIntegration, integer, text } from './integration.ts';
import { googleErrors } from './google.ts';
import { plainText } from '../openapi/wire.ts';
import type { Json, JsonObject } from '@heddle/core/blocks';

const calendarId = text('Id of the calendar. Default: primary, the main calendar of the account', {
  fields: ['calendarId', 'manualCalendarId'],
});
const eventId = text('Id of the event', { required: true });

/** Returns the items of a list, or of a string with commas. */
function listOf(value: Json | undefined): string[] {
  const list = Array.isArray(value) ? value.map(plainText) : plainText(value ?? '').split(',');
  return list.map((item) => item.trim()).filter((item) => item !== '');
}

const withDefaultCalendar = (args: JsonObject): JsonObject => ({ calendarId: 'primary', ...args });

export const integration = defineIntegration({
  service: 'google_calendar',
  title: 'Google Calendar',
  docsUrl: 'https://developers.google.com/workspace/calendar/api/v3/reference',
  baseUrl: 'https://www.googleapis.com',
  credential: { type: 'bearer', scopes: ['https://www.googleapis.com/auth/calendar'] },
  answer: googleErrors,
  types: ['google_calendar', 'google_calendar_v2'],
  operations: {
    create: 'google_calendar_create',
    list: 'google_calendar_list',
    get: 'google_calendar_get',
    delete: 'google_calendar_delete',
    quick_add: 'google_calendar_quick_add',
  },
  tools: {
    google_calendar_list: {
      description:
        'Lists the events of a calendar in the order of their start. Each occurrence of a recurring event is a separate event.',
      method: 'GET',
      path: '/calendar/v3/calendars/{calendarId}/events',
      query: { singleEvents: 'true', orderBy: 'startTime' },
      arguments: {
        calendarId,
        timeMin: text('Time in RFC 3339 format; only events that end after this time are listed', {
          in: 'query',
        }),
        timeMax: text('Time in RFC 3339 format; only events that start before this time are listed', {
          in: 'query',
        }),
        q: text('Words that the listed events contain', { in: 'query', fields: ['query'] }),
        maxResults: integer('Number of events per page, up to 2500', [1, 2500], { in: 'query' }),
        pageToken: text('Cursor of the page to fetch, from the field "nextPageToken" of the previous page', {
          in: 'query',
          fields: [],
        }),
      },
      prepare: withDefaultCalendar,
      paging: { items: 'items', cursor: 'nextPageToken', argument: 'pageToken', pages: 5 },
      answer: { output: { events: 'items', timeZone: 'timeZone', nextPageToken: 'nextPageToken' } },
    },
    google_calendar_create: {
      description: 'Creates an event.',
      method: 'POST',
      path: '/calendar/v3/calendars/{calendarId}/events',
      arguments: {
        calendarId,
        summary: text('Title of the event', { required: true }),
        description: text('Description of the event'),
        location: text('Location of the event'),
        startDateTime: text('Start of the event, in RFC 3339 format', { required: true }),
        endDateTime: text('End of the event, in RFC 3339 format', { required: true }),
        timeZone: text('Time zone of the event, such as Europe/Berlin'),
        attendees: data(
          { type: ['array', 'string'], items: { type: 'string' } },
          'Email addresses of the attendees',
        ),
        sendUpdates: text('Which attendees are notified: all, externalOnly or none', {
          schema: { enum: ['all', 'externalOnly', 'none'] },
          in: 'query',
        }),
      },
      json: {
        summary: arg('summary'),
        description: arg('description'),
        location: arg('location'),
        start: { dateTime: arg('startDateTime'), timeZone: arg('timeZone') },
        end: { dateTime: arg('endDateTime'), timeZone: arg('timeZone') },
        attendees: arg('people'),
      },
      prepare: (args) => {
        const people = listOf(args['attendees']).map((email) => ({ email }));
        return { ...withDefaultCalendar(args), ...(people.length > 0 && { people }) };
      },
    },
    google_calendar_get: {
      description: 'Returns an event.',
      method: 'GET',
      path: '/calendar/v3/calendars/{calendarId}/events/{eventId}',
      arguments: { calendarId, eventId },
      prepare: withDefaultCalendar,
    },
    google_calendar_delete: {
      description: 'Deletes an event.',
      method: 'DELETE',
      path: '/calendar/v3/calendars/{calendarId}/events/{eventId}',
      arguments: { calendarId, eventId },
      prepare: withDefaultCalendar,
      // A repeated call fails with 410.
      idempotent: false,
    },
    google_calendar_quick_add: {
      description: 'Creates an event from a sentence that describes the event.',
      method: 'POST',
      path: '/calendar/v3/calendars/{calendarId}/events/quickAdd',
      arguments: {
        calendarId,
        text: text('Sentence that describes the event, such as: lunch with Ada tomorrow at noon', {
          required: true,
          in: 'query',
        }),
      },
      prepare: withDefaultCalendar,
    },
  },
});
