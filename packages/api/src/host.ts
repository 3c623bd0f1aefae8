/** The ports of a host: its workflows, access to them, run ids, audit. Ports are plain data and functions. */
export { memoryReservations } from './areas/runs/memory-reservations.ts';
export type {
  Access,
  AccessDecision,
  Audit,
  AuditEvent,
  PreparedEvent,
  Definition,
  Definitions,
  RunTimeouts,
  Limits,
  NewReservation,
  Ports,
  PublicRuns,
  QueuedRun,
  QueuedStart,
  Reservation,
  ReservationFailure,
  Reservations,
  StartQueue,
} from './ports.ts';
