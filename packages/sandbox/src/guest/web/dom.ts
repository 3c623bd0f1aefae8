export { AbortController, AbortSignal } from './abort.ts';
export { CustomEvent, Event, EventTarget } from './events.ts';
export { DOMException } from './exception.ts';
