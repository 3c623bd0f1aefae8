import type { NewReservation, Reservation, Reservations } from '../../ports.ts';

/** Maximum number of reservations. The oldest one is evicted first; its run id can then be used again. */
const MAX_RESERVATIONS = 100_000;

/**
 * Returns reservations in the memory of this process, without a queue: for tests, and for hosts of one process that run
 * workflows only while the caller waits.
 */
export function memoryReservations(): Reservations {
  const reservationsByEngineRunId = new Map<string, Reservation>();
  const reservationsByRunId = new Map<string, Reservation>();
  const keyOf = ({ workspaceId, runId }: Pick<NewReservation, 'workspaceId' | 'runId'>): string =>
    JSON.stringify([workspaceId, runId]);
  const remove = (reservation: Reservation): void => {
    reservationsByEngineRunId.delete(reservation.engineRunId);
    reservationsByRunId.delete(keyOf(reservation));
  };
  return {
    reserve(reservation) {
      if (reservationsByRunId.has(keyOf(reservation))) return Promise.resolve(false);
      const newReservation = { ...reservation, isQueued: false };
      reservationsByEngineRunId.set(newReservation.engineRunId, newReservation);
      reservationsByRunId.set(keyOf(newReservation), newReservation);
      const [oldestReservation] =
        reservationsByEngineRunId.size > MAX_RESERVATIONS ? reservationsByEngineRunId.values() : [];
      if (oldestReservation) remove(oldestReservation);
      return Promise.resolve(true);
    },
    release(engineRunId) {
      const reservation = reservationsByEngineRunId.get(engineRunId);
      if (reservation) remove(reservation);
      return Promise.resolve();
    },
    fail(engineRunId, failure) {
      const reservation = reservationsByEngineRunId.get(engineRunId);
      if (reservation) reservation.failure = failure;
      return Promise.resolve();
    },
    findByEngineRunIds(engineRunIds) {
      const entries = engineRunIds.flatMap((id): [string, Reservation][] => {
        const reservation = reservationsByEngineRunId.get(id);
        return reservation ? [[id, reservation]] : [];
      });
      return Promise.resolve(new Map(entries));
    },
    findByRunId(runId, workspaceIds) {
      const keys = workspaceIds.map((workspaceId) => keyOf({ workspaceId, runId }));
      return Promise.resolve(keys.flatMap((key) => reservationsByRunId.get(key) ?? []));
    },
  };
}
