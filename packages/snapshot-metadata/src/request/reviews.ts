// SPDX-License-Identifier: Apache-2.0
/**
 * Who the caller is and what it may do: TokenReview and SubjectAccessReview. Nothing of the token is logged or kept.
 */
import {
  type ApiClient,
  type KubeObject,
  linkSignals,
  type Logger,
  type Resource,
  type SubjectAccessReview,
  subjectAccessReviews,
} from '@csi-sidecars/runtime';
import { createKnownTokens, type KnownSender, type Sender } from './known-tokens.ts';
import { Refusal } from './refusal.ts';
import { createSharedReviews, type SharedReviews } from './shared-reviews.ts';
import { failureText } from './failure-text.ts';
import { createWaitingRoom } from './waiting-room.ts';

export interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface SnapshotMetadataService extends KubeObject {
  readonly spec?: { readonly address?: string; readonly audience?: string; readonly caCert?: string };
}

export const snapshotMetadataServices: Resource<SnapshotMetadataService> = {
  group: 'cbt.storage.k8s.io',
  version: 'v1beta1',
  plural: 'snapshotmetadataservices',
  kind: 'SnapshotMetadataService',
  namespaced: false,
};

interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string; readonly audiences: readonly string[] };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: User;
    readonly audiences?: readonly string[] | null;
  };
}
export const tokenReviews: Resource<TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};

export interface ReviewClients {
  /** Its rate limit is for TokenReviews alone, so that bad tokens take nothing from what good ones need. */
  readonly tokens: Pick<ApiClient, 'create'>;
  readonly core: Pick<ApiClient, 'create' | 'get'>;
  readonly services: Pick<ApiClient, 'get'>;
}

export interface Asking extends Sender {
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

interface Waiting extends Asking {
  readonly sender: KnownSender;
}

export interface Reviews {
  /** Throws a Refusal. */
  admit(asking: Asking): Promise<User>;
}

export interface ReviewOptions {
  readonly driverName: string;
  /** Empty: that of the SnapshotMetadataService, which is read for each request. */
  readonly audience: string;
}

export function createReviews(clients: ReviewClients, { driverName, audience }: ReviewOptions): Reviews {
  const tokens = createSharedReviews<User | undefined>();
  const accesses: SharedReviews<SubjectAccessReview['status']> = createSharedReviews();

  const services = createSharedReviews<string>();
  const known = createKnownTokens();
  const room = createWaitingRoom();

  const audienceOf = async ({ signal, sender }: Waiting): Promise<string> => {
    if (audience !== '') return audience;
    try {
      return await services.ask({ key: driverName, line: sender.line(), signal }, async (shared) => {
        const { spec } = await clients.services.get(snapshotMetadataServices, { name: driverName }, { signal: shared });
        return spec?.audience ?? '';
      });
    } catch (error) {
      const what = `failed to find the SnapshotMetadataService CR for driver '${driverName}'`;
      throw notAuthenticated('A1', `${what}: ${failureText(error, signal)}`, error);
    }
  };

  const userOf = async (asking: Waiting): Promise<User> => {
    const { token, address, sender, signal, log } = asking;
    const wanted = await audienceOf(asking);
    let user: User | undefined;
    try {
      // No token can be for an empty audience, and the API server would take it for its own.
      if (wanted !== '') {
        const line = sender.line();
        user = await tokens.ask({ key: JSON.stringify([wanted, token]), line, signal }, (shared) =>
          review(clients.tokens, { token, audience: wanted, signal: shared }),
        );
        sender.reviewed(user === undefined ? 'refused' : 'accepted');
      }
    } catch (error) {
      throw notAuthenticated('A2', failureText(error, signal), error);
    }
    if (user !== undefined) return user;
    log.info(2, 'Refused: unauthenticated user', { address });
    throw new Refusal('A3', { code: 'Unauthenticated', message: 'unauthenticated user' });
  };

  const permit = async (user: User, asking: Waiting): Promise<void> => {
    const { namespace, sender, signal, log } = asking;
    const spec = accessOf(user, namespace);
    let status: SubjectAccessReview['status'];
    try {
      const line = sender.line();
      status = await accesses.ask({ key: JSON.stringify(spec), line, signal }, async (shared) => {
        const answer = await clients.core.create(subjectAccessReviews, { spec }, { signal: shared });
        return answer.status;
      });
    } catch (error) {
      const text = `failed to authorize the user: ${failureText(error, signal)}`;
      throw new Refusal('A4', { code: 'Internal', message: text }, { cause: error });
    }
    if (status?.allowed === true && status.denied !== true) return;
    log.info(2, 'Refused: user without permission', { user: user.username, groups: user.groups, extra: user.extra });
    const text = `user does not have permissions to perform the operation: ${status?.reason ?? ''}`;
    throw new Refusal('A5', { code: 'PermissionDenied', message: text });
  };

  return {
    async admit(asking) {
      const sender = known.of(asking);
      using place = room.enter(sender.line());
      using linked = linkSignals([asking.signal, place.signal]);
      const inPlace = { ...asking, sender, signal: linked.signal };
      try {
        const user = await userOf(inPlace);
        await permit(user, inPlace);
        return user;
      } catch (error) {
        // Whatever was being done then has failed because of it.
        place.signal.throwIfAborted();
        throw error;
      }
    },
  };
}

/** Undefined: the token is not valid, or not for this audience. */
async function review(
  client: ReviewClients['tokens'],
  asked: { readonly token: string; readonly audience: string; readonly signal: AbortSignal },
): Promise<User | undefined> {
  const { token, audience, signal } = asked;
  const { status } = await client.create(tokenReviews, { spec: { token, audiences: [audience] } }, { signal });
  const isOurs = status?.authenticated === true && (status.audiences ?? []).includes(audience);
  return isOurs ? (status.user ?? {}) : undefined;
}

/** Without the name of the snapshot: the right is that for all of the namespace. */
function accessOf({ username, groups, uid, extra }: User, namespace: string): SubjectAccessReview['spec'] {
  return {
    resourceAttributes: {
      namespace,
      verb: 'get',
      group: 'snapshot.storage.k8s.io',
      version: 'v1',
      resource: 'volumesnapshots',
    },
    ...(username !== undefined && { user: username }),
    ...(groups !== undefined && { groups }),
    ...(extra !== undefined && { extra }),
    ...(uid !== undefined && { uid }),
  };
}

function notAuthenticated(row: 'A1' | 'A2', text: string, cause: unknown): Refusal {
  return new Refusal(row, { code: 'Internal', message: `failed to authenticate user: ${text}` }, { cause });
}
