import { ApiError } from '../errors.ts';

/** Tickets for what is in flight in this process. */
export interface Capacity {
  /** Takes a ticket and gives how to give it back. Throws 429 when there is none. */
  enter(): () => void;
  readonly inFlight: number;
}

export function createCapacity(most: number): Capacity {
  let inFlight = 0;
  return {
    get inFlight() {
      return inFlight;
    },
    enter() {
      if (inFlight >= most) {
        throw new ApiError(429, 'Server is at capacity. Please retry shortly.', {
          headers: { 'Retry-After': '5' },
        });
      }
      inFlight += 1;
      let left = false;
      return () => {
        if (!left) inFlight -= 1;
        left = true;
      };
    },
  };
}
