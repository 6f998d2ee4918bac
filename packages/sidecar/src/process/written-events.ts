// SPDX-License-Identifier: Apache-2.0
/** `--events`: which events the controllers of a process write. */
import type { WrittenEvents } from '@csi-sidecars/runtime';
import type { EventsValues } from '../programs/shared-flags.ts';

const selections: readonly WrittenEvents[] = ['all', 'outcome'];

/** Undefined: the program does not have the flag, or its value is refused. */
export function writtenEventsOf({ events }: Partial<EventsValues>): WrittenEvents | undefined {
  return selections.find((selection) => selection === events);
}

/** The reason why the command line cannot be run; undefined if it can. */
export function eventsRefused(values: Partial<EventsValues>): string | undefined {
  const { events } = values;
  if (events === undefined || writtenEventsOf(values) !== undefined) return undefined;
  return `--events must be ${selections.join(' or ')}, not ${JSON.stringify(events)}`;
}
