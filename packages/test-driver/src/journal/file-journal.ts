// SPDX-License-Identifier: Apache-2.0
/**
 * The journal of the program: one JSON object per line, appended only.
 *
 *     {"kind":"start","at":"...","pid":4711,"driver":"test.csi.example.com"}
 *     {"kind":"begin","seq":1,"at":"...","method":"/csi.v1.Controller/CreateVolume","peer":"...","nodeId":"...","request":{}}
 *     {"kind":"end","seq":1,"at":"...","outcome":{"kind":"answered","response":{}}}
 *
 * The begin of a call that changes something is durable before its effect: it survives a kill -9, and with durability `machine` a
 * power cut as well. Ends and queries are not flushed. Lines keep the order of arrival. Numbers continue where an earlier run stopped.
 * Values of secrets are replaced unless the settings keep them.
 */
import { open, readFile, type FileHandle } from 'node:fs/promises';
import type { Clock } from '@csi-sidecars/runtime';
import { orAbsent, type Durability } from '../disk/files.ts';
import type { IncomingCall, Journal } from './journal.ts';

export interface FileJournalOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly driver: string;
  readonly secrets: 'kept' | 'stripped';
  readonly durability: Durability;
}

export interface FileJournal extends Journal {
  close(): Promise<void>;
}

/** Calls that change nothing: their lines need not be durable. */
const query = /\/(Probe|Get|List|Validate|ControllerGet|GroupControllerGet|NodeGet)/;

export async function openFileJournal({ path, clock, driver, ...options }: FileJournalOptions): Promise<FileJournal> {
  const before = (await orAbsent(readFile(path, 'utf8'))) ?? '';
  const file = await open(path, 'a', 0o600);
  const append = appender(file, options.durability);
  const at = (): string => new Date(clock.nowMs()).toISOString();
  let lastSeq = lastSeqIn(before);
  // Ends a line that a crash cut short.
  if (before !== '' && !before.endsWith('\n')) await file.appendFile('\n');
  await append({ kind: 'start', at: at(), pid: process.pid, driver }, 'safe');
  return {
    begin: async (call) => {
      const seq = ++lastSeq;
      const { method, peer, nodeId } = call;
      const request = options.secrets === 'kept' ? call.request : withoutSecrets(call);
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

/** Numbers only increase, so the last one is the highest. */
function lastSeqIn(text: string): number {
  let seq = 0;
  for (const match of text.matchAll(/^\{"kind":"begin","seq":(\d+),/gm)) seq = Number(match[1]);
  return seq;
}

function withoutSecrets({ request }: IncomingCall): object {
  const { secrets } = request as { readonly secrets?: Readonly<Record<string, string>> };
  if (secrets === undefined) return request;
  return { ...request, secrets: Object.fromEntries(Object.keys(secrets).map((key) => [key, '***stripped***'])) };
}

type Append = (line: object, wish: 'safe' | 'soon') => Promise<void>;

/** Lines that arrive while a batch is written form the next one: many callers share one flush. */
function appender(file: FileHandle, durability: Durability): Append {
  let waiting: { text: string; safe: boolean } = { text: '', safe: false };
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    const batch = waiting;
    waiting = { text: '', safe: false };
    next = undefined;
    await file.appendFile(batch.text);
    if (batch.safe && durability === 'machine') await file.datasync();
  };
  return async (line, wish) => {
    waiting.text += `${JSON.stringify(line)}\n`;
    waiting.safe ||= wish === 'safe';
    next ??= running.then(write, write); // a failed batch fails its own callers only
    running = next;
    await next;
  };
}
