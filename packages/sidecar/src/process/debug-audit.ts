// SPDX-License-Identifier: Apache-2.0
/**
 * `/debug/audit`: the last audit of each controller that makes one. If a leader has none, or makes them only when asked, one begins because of the
 * question, at most one an hour. Who may ask, and how often: as for `/debug/explain`.
 */
import type { AuditBoard, AuditState, KeptPass, PassFinding } from '@csi-sidecars/csi';
import type { HttpRoute } from '@csi-sidecars/runtime';
import { debugRoute, type Inspection, shownText } from '@csi-sidecars/runtime/internal';
import type { ProcessHost } from './host.ts';

export interface DebugAuditOptions {
  readonly access: 'loopback' | 'any';
  readonly controllers: readonly { readonly inspection: Inspection; readonly board: AuditBoard }[];
}

/** A driver may have thousands of volumes that nothing names: what is beyond is counted, and not listed. */
const mostBytes = 48 * 1_024;
const mostCharacters = 256;

export function debugAuditRoute(
  host: Pick<ProcessHost, 'clock' | 'version' | 'hostName'>,
  { access, controllers }: DebugAuditOptions,
): HttpRoute {
  return debugRoute(host, {
    path: '/debug/audit',
    access,
    parse: (query) => (query.size === 0 ? 'last' : undefined),
    answer: () => ({ document: answerOf(host, controllers) }),
  });
}

function answerOf(
  { clock, version, hostName }: Pick<ProcessHost, 'clock' | 'version' | 'hostName'>,
  controllers: DebugAuditOptions['controllers'],
): object {
  let leftBytes = mostBytes;
  const fits = (finding: object): boolean => {
    leftBytes -= Buffer.byteLength(JSON.stringify(finding)) + 1;
    return leftBytes >= 0;
  };
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'DebugAudit',
    version,
    pod: hostName,
    now: new Date(clock.nowMs()).toISOString(),
    controllers: controllers.map(({ inspection, board }) => {
      const leading = inspection.state().leadingSinceMs !== undefined;
      const before = leading ? board.state() : undefined;
      if (before !== undefined && isDue(before)) board.ask();
      const state = leading ? board.state() : undefined;
      return {
        program: inspection.program,
        driver: inspection.facts().driver?.name ?? null,
        leading,
        holder: inspection.state().holder || null,
        listed: state?.listed ?? null,
        running: state?.isRunning ?? false,
        last: state?.last === undefined ? null : lastOf(state.last, fits),
      };
    }),
  };
}

/** No other pass comes soon by itself. */
function isDue({ isPeriodic, last }: AuditState): boolean {
  return !isPeriodic || last === undefined || last.result === 'failed';
}

function lastOf(
  { startedMs, endedMs, result, reason, entries, findings, counts, isWhole }: KeptPass,
  fits: (finding: object) => boolean,
): object {
  const shown: object[] = [];
  for (const finding of findings) {
    const json = findingOf(finding);
    if (!fits(json)) break;
    shown.push(json);
  }
  return {
    startedAt: new Date(startedMs).toISOString(),
    endedAt: new Date(endedMs).toISOString(),
    result,
    reason: reason === undefined ? null : shownText(reason),
    entries,
    counts,
    findings: shown,
    truncated: !isWhole || shown.length < findings.length,
  };
}

function findingOf(finding: PassFinding): object {
  const { row, class: group, level, confirmed, handle, object, claim, sinceMs, sentence } = finding;
  const isTime = Math.abs(sinceMs) <= 8.64e15;
  return {
    row,
    class: group,
    level,
    confirmed,
    handle: handle.slice(0, mostCharacters),
    object: object === undefined ? null : { kind: object.kind, name: object.name },
    claim: claim === undefined ? null : { namespace: claim.namespace, name: claim.name },
    since: isTime ? new Date(sinceMs).toISOString() : null,
    sentence: shownText(sentence).slice(0, mostCharacters),
  };
}
