// SPDX-License-Identifier: Apache-2.0
/**
 * The driver as a program: records and data in the state folder, CSI on unix sockets, the control interface beside them.
 *
 * Start: journal, data folder, records (interrupted work is finished or undone), control socket, and CSI sockets last, so that
 * every caller that can connect gets answers. Stop: CSI sockets first; calls in progress are answered, including hanging ones.
 */
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { systemRandom, type Clock } from '@csi-sidecars/runtime';
import { dispatch } from '../calls/dispatch.ts';
import { createControl } from '../control/control.ts';
import { serveControl } from '../control/server.ts';
import { openDriver } from '../core/driver.ts';
import { DataFolder } from '../disk/data-folder.ts';
import { diskBackend } from '../disk/disk-backend.ts';
import { kernelMounts } from '../disk/kernel-mounts.ts';
import { linkMounts } from '../disk/link-mounts.ts';
import { recordFiles } from '../disk/record-files.ts';
import { FaultBox } from '../faults/fault-box.ts';
import { openFileJournal } from '../journal/file-journal.ts';
import type { IncomingCall, Outcome } from '../journal/journal.ts';
import { readJournal } from '../journal/read-journal.ts';
import type { Configuration } from './configuration.ts';
import { type EndpointOptions, openEndpoint } from './endpoint.ts';
import { streamHandlers } from '../services/snapshot-metadata.ts';

export interface ProgramDeps {
  readonly clock: Clock;
  /** Ends the process at once, without a chance to write anything. */
  readonly die: () => never;
}

export interface Program {
  stop(): Promise<void>;
}

export async function startProgram({ clock, die }: ProgramDeps, configuration: Configuration): Promise<Program> {
  const { settings } = configuration;
  await mkdir(configuration.stateFolder, { recursive: true });
  const stateFolder = await realpath(configuration.stateFolder);
  const journalPath = configuration.journal.path ?? join(stateFolder, 'journal.jsonl');
  const journal = await openFileJournal({
    path: journalPath,
    clock,
    driver: settings.name,
    secrets: configuration.journal.secrets,
    durability: configuration.durability,
  });
  const folder = new DataFolder(stateFolder);
  await folder.prepare();
  const faults = new FaultBox(clock);
  const random = systemRandom();
  const driver = await openDriver({
    settings,
    clock,
    persistence: recordFiles(join(stateFolder, 'records'), configuration.durability),
    backend: diskBackend(folder, usesKernel(configuration) ? kernelMounts(folder) : linkMounts(folder)),
    newId: (kind) => `${kind}-${random.uuid()}`,
  });
  const control =
    configuration.faultSocket === undefined
      ? undefined
      : await serveControl(
          createControl({ driver: async () => driver, faults, calls: async () => await readJournal(journalPath) }),
          configuration.faultSocket,
        );
  const serve = async (call: IncomingCall): Promise<Outcome> => {
    const outcome = await dispatch({ driver, faults, journal }, call);
    if (outcome.kind === 'interrupted' && outcome.by === 'crash') die();
    return outcome;
  };
  const stream: EndpointOptions['stream'] = (method, request) => streamHandlers[method](driver, request as never);
  const endpoints = await Promise.all(
    configuration.endpoints.map(async (endpoint) => await openEndpoint({ ...endpoint, serve, stream })),
  );
  return {
    stop: async () => {
      faults.clear();
      await Promise.all(endpoints.map(async (endpoint) => await endpoint.close()));
      await control?.close();
      await journal.close();
    },
  };
}

function usesKernel({ mounts }: Configuration): boolean {
  return mounts === 'kernel' || (mounts === 'auto' && process.getuid?.() === 0);
}
