// SPDX-License-Identifier: Apache-2.0
/**
 * The journal of the program: one JSON object per line, appended only.
 *
 *     {"kind":"start","at":"...","pid":4711,"driver":"test.csi.example.com"}
 *     {"kind":"begin","seq":1,"at":"...","method":"/csi.v1.Controller/CreateVolume","peer":"...","nodeId":"...","request":{}}
 *     {"kind":"end","seq":1,"at":"...","outcome":{"kind":"answered","response":{}}}
 *
 * A begin of a call that changes something is on disk before its effect; ends and queries may be lost in a power cut, not
 * in a kill -9. Lines keep the order of arrival. Numbers go on where an earlier run stopped. Values of secrets are
 * replaced unless asked for.
 */
import { open, readFile, type FileHandle } from 'node:fs/promises';
import type { Clock } from '@csi-sidecars/runtime';
import { orAbsent } from '../disk/files.ts';
import type { IncomingCall, Journal } from './journal.ts';

export interface FileJournalOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly driver: string;
  readonly secrets: 'kept' | 'stripped';
}

export interface FileJournal extends Journal {
  close(): Promise<void>;
}

/** Calls that change nothing: their lines need not be safe. */
const query = /\/(Probe|Get|List|Validate|ControllerGet|GroupControllerGet|NodeGet)/;

export async function openFileJournal({ path, clock, driver, secrets }: FileJournalOptions): Promise<FileJournal> {
  const before = (await orAbsent(readFile(path, 'utf8'))) ?? '';
  const file = await open(path, 'a', 0o600);
  const append = appender(file);
  const at = (): string => new Date(clock.nowMs()).toISOString();
  let lastSeq = Math.max(
    0,
    ...[...before.matchAll(/^\{"kind":"begin","seq":(\d+),/gm)].map((match) => Number(match[1])),
  );
  // A line that a crash cut short ends here.
  if (before !== '' && !before.endsWith('\n')) await file.appendFile('\n');
  await append({ kind: 'start', at: at(), pid: process.pid, driver }, 'safe');
  return {
    begin: async (call) => {
      const seq = ++lastSeq;
      const { method, peer, nodeId } = call;
      const request = secrets === 'kept' ? call.request : withoutSecrets(call);
      await append(
        { kind: 'begin', seq, at: at(), method, peer, nodeId, request },
        query.test(method) ? 'soon' : 'safe',
      );
      return seq;
    },
    end: async (seq, outcome) => await append({ kind: 'end', seq, at: at(), outcome }, 'soon'),
    close: async () => await file.close(),
  };
}

function withoutSecrets({ request }: IncomingCall): object {
  const { secrets } = request as { readonly secrets?: Readonly<Record<string, string>> };
  if (secrets === undefined) return request;
  return { ...request, secrets: Object.fromEntries(Object.keys(secrets).map((key) => [key, '***stripped***'])) };
}

type Append = (line: object, wish: 'safe' | 'soon') => Promise<void>;

/** Lines that come while one batch is written make up the next: many callers share one flush. */
function appender(file: FileHandle): Append {
  let waiting: { text: string; safe: boolean } = { text: '', safe: false };
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    const batch = waiting;
    waiting = { text: '', safe: false };
    next = undefined;
    await file.appendFile(batch.text);
    if (batch.safe) await file.datasync();
  };
  return async (line, wish) => {
    waiting.text += `${JSON.stringify(line)}\n`;
    waiting.safe ||= wish === 'safe';
    next ??= running.then(write);
    running = next;
    await next;
  };
}
