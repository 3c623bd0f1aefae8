import { Team } from './team.ts';
import type { TeamOptions } from './team.ts';

/** Where both sides run. */
export type Ground = Pick<TeamOptions, 'server' | 'bundle'>;

/** The teams that have been started: rows that need the same processes share them. */
export class Teams {
  private readonly ground: Ground;
  private readonly started = new Map<string, Promise<Team>>();

  constructor(ground: Ground) {
    this.ground = ground;
  }

  get(wanted: Omit<TeamOptions, keyof Ground>): Promise<Team> {
    const key = JSON.stringify([wanted.side, wanted.layout, wanted.mode]);
    const team = this.started.get(key) ?? Team.start({ ...this.ground, ...wanted });
    this.started.set(key, team);
    return team;
  }

  /** Stops all but the teams that did not start. */
  async stop(): Promise<void> {
    const all = await Promise.allSettled(this.started.values());
    this.started.clear();
    await Promise.all(all.filter((team) => team.status === 'fulfilled').map(({ value }) => value.stop()));
  }
}
