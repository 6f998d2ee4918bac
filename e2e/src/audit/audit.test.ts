// SPDX-License-Identifier: Apache-2.0
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isServiceAccount, refused, requestsPerVolume, rightsUnused, secretAccess, shapes } from './analyse.ts';
import { readAudit, type AuditedRequest } from './read-audit.ts';

let folder: string;
let log: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-test-'));
  log = join(folder, 'audit.log');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function line(fields: Record<string, unknown>): string {
  return `${JSON.stringify({
    stage: 'ResponseComplete',
    verb: 'get',
    requestURI: '/api/v1/persistentvolumes/pv-1',
    user: { username: 'system:serviceaccount:e2e:csi-provisioner' },
    objectRef: { resource: 'persistentvolumes', name: 'pv-1' },
    responseStatus: { code: 200 },
    ...fields,
  })}\n`;
}

function requestOf(fields: Partial<AuditedRequest>): AuditedRequest {
  return {
    user: 'system:serviceaccount:e2e:csi-provisioner',
    userAgent: 'csi-provisioner',
    verb: 'get',
    group: '',
    resource: 'persistentvolumes',
    subresource: '',
    namespace: '',
    name: '',
    code: 200,
    patch: undefined,
    uri: '/',
    ...fields,
  };
}

describe('reading', () => {
  it('given a log that grows, when read from the last mark, then only what is new and complete is returned', () => {
    appendFileSync(log, line({}));
    const first = readAudit(log);
    const half = line({ verb: 'delete' });
    appendFileSync(log, half.slice(0, 20));
    const second = readAudit(log, first.mark);
    appendFileSync(log, half.slice(20));
    const third = readAudit(log, second.mark);

    expect([first, second, third].map(({ requests }) => requests.map(({ verb }) => verb))).toEqual([
      ['get'],
      [],
      ['delete'],
    ]);
  });

  it('given watches, then each counts once: when it begins, or when it is refused', () => {
    appendFileSync(log, line({ verb: 'watch', stage: 'ResponseStarted' }));
    appendFileSync(log, line({ verb: 'watch', stage: 'ResponseComplete' }));
    appendFileSync(log, line({ verb: 'watch', stage: 'ResponseComplete', responseStatus: { code: 403 } }));

    expect(readAudit(log).requests.map(({ code }) => code)).toEqual([200, 403]);
  });

  it('given patches, then their kind is reported as far as the body shows it', () => {
    const patch = (requestObject: unknown, query = ''): void =>
      appendFileSync(log, line({ verb: 'patch', requestObject, requestURI: `/x${query}` }));
    patch([{ op: 'test' }]);
    patch({ metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } });
    patch({ metadata: { annotations: {} } });
    patch({ apiVersion: 'v1', kind: 'PersistentVolume' }, '?fieldManager=e2e&force=true');
    patch(undefined);

    expect(readAudit(log).requests.map((request) => request.patch)).toEqual([
      'json',
      'strategic',
      'merge or strategic',
      'apply',
      undefined,
    ]);
  });

  it('given when a request arrived, then that is known to the millisecond', () => {
    appendFileSync(log, line({ requestReceivedTimestamp: '2026-01-02T03:04:05.678901Z' }));
    expect(readAudit(log).requests.map(({ receivedAtMs }) => receivedAtMs)).toEqual([
      Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    ]);
  });

  it('given no log yet, then there are no requests', () => {
    expect(readAudit(log).requests).toEqual([]);
  });
});

describe('questions', () => {
  it('given refusals, then only the harmless ones are passed over', () => {
    const bad = requestOf({ verb: 'get', resource: 'secrets', code: 403 });
    const harmless = requestOf({ verb: 'create', resource: 'events', code: 403 });
    expect(refused([bad, harmless, requestOf({})])).toEqual([bad]);
  });

  it('given a refusal of what was allowed at another time, then the API server had just started; elsewhere it counts', () => {
    const early = requestOf({ resource: 'pods', namespace: 'one', code: 403 });
    const elsewhere = requestOf({ resource: 'pods', namespace: 'two', code: 403 });
    expect(refused([early, elsewhere, requestOf({ resource: 'pods', namespace: 'one' })])).toEqual([elsewhere]);
  });

  it('given rules and requests, then the unused permissions are listed', () => {
    const rules = [{ apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['list', 'watch'] }];
    const requests = [requestOf({ verb: 'list', group: 'storage.k8s.io', resource: 'storageclasses' })];
    expect(rightsUnused(rules, requests)).toEqual(['watch storageclasses.storage.k8s.io']);
  });

  it('given a right that was refused, then it does not count as used', () => {
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
    expect(rightsUnused(rules, [requestOf({ resource: 'pods', code: 403 })])).toEqual(['get pods']);
  });

  it('given secrets, then everything but get is suspicious', () => {
    const list = requestOf({ verb: 'list', resource: 'secrets' });
    expect(secretAccess([requestOf({ resource: 'secrets' }), list])).toEqual([list]);
  });

  it('given requests of one kind with different names, then they have one shape', () => {
    const request = {
      verb: 'watch',
      uri: '/api/v1/persistentvolumes?watch=true&resourceVersion=12&timeoutSeconds=400',
    };
    const other = { verb: 'watch', uri: '/api/v1/persistentvolumes?watch=true&resourceVersion=99&timeoutSeconds=300' };
    expect(shapes([requestOf(request), requestOf(other)])).toEqual([
      'watch persistentvolumes ?resourceVersion&timeoutSeconds&watch=true -> 200',
    ]);
  });

  it('given lists, watches, leases and requests for volumes, then a volume costs only the last', () => {
    const requests = [
      requestOf({ verb: 'list' }),
      requestOf({ verb: 'watch' }),
      requestOf({ verb: 'update', resource: 'leases' }),
      requestOf({ verb: 'create' }),
      requestOf({ verb: 'patch' }),
      requestOf({ verb: 'get' }),
    ];
    expect(requestsPerVolume(requests, 2)).toBe(1.5);
  });

  it('given users, then programs under test are the ServiceAccounts outside kube-system', () => {
    const users = ['system:serviceaccount:e2e:csi-provisioner', 'system:serviceaccount:kube-system:pv', 'admin'];
    expect(users.map((user) => isServiceAccount(requestOf({ user })))).toEqual([true, false, false]);
  });
});
