/** A receiver of webhook requests from other systems. A host provides its store. */
export { runResponse } from './areas/runs/run-response.ts';
export { ApiError } from './errors.ts';
export { WEBHOOK_PREFIX, webhookReceiver } from './webhooks/receiver.ts';
export type { WebhookReceiver, WebhookReceiverOptions, WebhookRequest } from './webhooks/receiver.ts';
export type { WebhookLimits } from './webhooks/body.ts';
export type {
  AcceptedEvent,
  DeliveredFile,
  FoundWebhook,
  ParsedDelivery,
  SignedDelivery,
  WebhookEvent,
  WebhookAction,
  WebhookReply,
  WebhookStore,
  WebhookType,
} from './webhooks/port.ts';
