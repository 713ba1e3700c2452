/**
 * The login of a remote server (OAuth 2.1 as the protocol has it), on the SDK's flow.
 *
 * O1. A token that is known is used, one that ran out is refreshed, and only then is a person asked, through the `Asker`.
 * O2. One login at a time for each connection; requests that met the same refusal share it.
 * O3. Without anybody to ask, the request is refused at once and says what to do (M15).
 * O4. A login that is not finished within five minutes is given up.
 */
import { auth, type OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js"
import {
  type OAuthClientInformationMixed,
  OAuthClientInformationFullSchema,
  OAuthClientInformationSchema,
  type OAuthClientMetadata,
  type OAuthTokens,
  OAuthTokensSchema
} from "@modelcontextprotocol/sdk/shared/auth.js"
import { randomBytes } from "node:crypto"
import * as Json from "@settle/core/model/Json"
import * as Asker from "@settle/core/port/Asker"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as McpError from "./McpError.ts"
import * as Redirect from "./Redirect.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as TokenStore from "./TokenStore.ts"

export interface Challenge {
  /** The token that was refused. */
  readonly used: string | undefined
  /** The token is good, and may do too little: a refresh is of no use. */
  readonly more: boolean
  readonly resourceMetadataUrl?: URL
  readonly scope?: string
}

export interface Login {
  readonly token: Effect.Effect<string | undefined>
  readonly renew: (challenge: Challenge) => Effect.Effect<void, McpError.Reason>
  /** True while a person is asked. */
  readonly busy: () => boolean
}

/** What is kept between runs. */
interface Kept {
  tokens: OAuthTokens | undefined
  client: OAuthClientInformationMixed | undefined
  /** Where the registered client lets a login come back to. */
  redirect: string | undefined
}

const patience = "5 minutes"

export const make = Effect.fnUntraced(function* (server: string, spec: ServerSpec.Remote): Effect.fn.Return<Login> {
  const store = yield* TokenStore.TokenStore
  const asker = yield* Asker.Asker
  const kept = restore(yield* store.read(spec.url))
  const one = Semaphore.makeUnsafe(1)
  let busy = false
  const session: Session = {
    server,
    spec,
    asker,
    kept,
    load: Effect.map(store.read(spec.url), restore),
    save: () =>
      store.write(spec.url, {
        ...Object.fromEntries(Object.entries(kept).map(([k, v]) => [k, Json.fromUnknown(v ?? null)]))
      }),
    asking: (is) => {
      busy = is
    }
  }
  return {
    token: Effect.sync(() => kept.tokens?.access_token),
    // an `authorization` header of the user's own is the user's login
    renew: (challenge) =>
      hasOwnHeader(spec) ? Effect.fail(refused(session, ownHeader)) : one.withPermits(1)(renew(session, challenge)),
    busy: () => busy
  }
})

interface Session {
  readonly server: string
  readonly spec: ServerSpec.Remote
  readonly asker: Asker.Asker
  readonly kept: Kept
  readonly load: Effect.Effect<Kept>
  readonly save: () => Effect.Effect<boolean>
  readonly asking: (is: boolean) => void
}

const ownHeader = 'it refuses the "authorization" of the configured "headers"; correct it, or take it out to log in'

const hasOwnHeader = (spec: ServerSpec.Remote): boolean =>
  Object.keys(spec.headers ?? {}).some((name) => name.toLowerCase() === "authorization")

const restore = (value: Json.JsonObject | undefined): Kept => {
  const tokens = OAuthTokensSchema.safeParse(value?.["tokens"])
  const client = OAuthClientInformationFullSchema.or(OAuthClientInformationSchema).safeParse(value?.["client"])
  const redirect = value?.["redirect"]
  return {
    tokens: tokens.success ? tokens.data : undefined,
    client: client.success ? client.data : undefined,
    redirect: typeof redirect === "string" ? redirect : undefined
  }
}

const renew = (session: Session, challenge: Challenge): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const { kept, spec } = session
    // another request has just renewed what this one was refused with, or another process has, and kept it
    if (kept.tokens !== undefined && kept.tokens.access_token !== challenge.used) return
    const stored = yield* session.load
    if (stored.tokens !== undefined && stored.tokens.access_token !== challenge.used) {
      Object.assign(kept, stored)
      return
    }
    if (spec.auth?.grant === "client_credentials") return yield* flow(session, challenge, machine(session))
    if (!challenge.more && kept.tokens?.refresh_token !== undefined) {
      const silent = person(session, {
        redirect: kept.redirect ?? "http://127.0.0.1/",
        shown: () => undefined,
        state: ""
      })
      const refreshed = yield* Effect.exit(flow(session, challenge, silent))
      if (refreshed._tag === "Success" && kept.tokens.access_token !== challenge.used) return
    }
    if (session.asker === Asker.none) return yield* Effect.fail(refused(session, nobody))
    yield* interactive(session, challenge)
  })

const nobody = 'nobody is there to log in. Run it in a terminal once, or put an authorization into its "headers"'

const interactive = (session: Session, challenge: Challenge): Effect.Effect<void, McpError.Reason> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { kept, spec } = session
      const listener = yield* Redirect.listen(spec.auth?.redirectPort)
      if (kept.redirect !== listener.url && spec.auth?.clientId === undefined) kept.client = undefined
      kept.redirect = listener.url
      // out of sight, or the flow would try a refresh; a login that fails must not cost the token that still does something
      const before = kept.tokens
      kept.tokens = undefined
      yield* Effect.addFinalizer((exit) =>
        Effect.sync(() => {
          if (exit._tag === "Failure") kept.tokens = before
        })
      )
      let shown: URL | undefined = undefined
      const state = randomBytes(16).toString("hex")
      const provider = person(session, { redirect: listener.url, state, shown: (url) => (shown = url) })
      yield* flow(session, challenge, provider)
      if (shown === undefined) return
      const code = yield* Effect.raceFirst(listener.code(state), declined(session, shown)).pipe(
        Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail("it was not finished within 5 minutes") }),
        Effect.mapError((why) => refused(session, `the login did not succeed: ${why}`))
      )
      yield* flow(session, { ...challenge, code }, provider)
    })
  ).pipe(
    Effect.onExit(() => Effect.sync(() => session.asking(false))),
    (self) =>
      Effect.andThen(
        Effect.sync(() => session.asking(true)),
        self
      )
  )

/** Shows the page; only a refusal ends the wait, since the answer comes through the browser. */
const declined = (session: Session, url: URL): Effect.Effect<never, string> =>
  Effect.flatMap(session.asker.ask({ kind: "server-login", server: session.server, url: url.href }), (answer) =>
    answer["action"] === "accept" ? Effect.never : Effect.fail("it was declined")
  )

/** One pass of the SDK's flow: known tokens, a refresh, a code, or a page to show. */
const flow = (
  session: Session,
  challenge: Challenge & { readonly code?: string },
  provider: OAuthClientProvider
): Effect.Effect<void, McpError.Reason> =>
  Effect.tryPromise({
    try: (signal) =>
      auth(provider, {
        serverUrl: session.spec.url,
        fetchFn: (input, init) => fetch(input, { ...init, signal }),
        ...(challenge.resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: challenge.resourceMetadataUrl }),
        ...(scopeOf(session, challenge) === undefined ? {} : { scope: scopeOf(session, challenge) ?? "" }),
        ...(challenge.code === undefined ? {} : { authorizationCode: challenge.code })
      }),
    catch: (cause) => refused(session, cause instanceof Error ? cause.message : String(cause))
  }).pipe(
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => Effect.fail(refused(session, "its login service does not answer"))
    }),
    Effect.andThen(Effect.suspend(session.save)),
    Effect.asVoid
  )

const scopeOf = (session: Session, challenge: Challenge): string | undefined =>
  challenge.scope ?? session.spec.auth?.scope

const refused = (session: Session, detail: string): McpError.Unauthorized =>
  new McpError.Unauthorized({ target: ServerSpec.shown(session.spec), detail })

interface Page {
  readonly redirect: string
  readonly state: string
  readonly shown: (url: URL) => void
}

const metadata = (session: Session, redirects: ReadonlyArray<string>): OAuthClientMetadata => ({
  client_name: "settle",
  redirect_uris: [...redirects],
  grant_types: redirects.length === 0 ? ["client_credentials"] : ["authorization_code", "refresh_token"],
  response_types: redirects.length === 0 ? [] : ["code"],
  token_endpoint_auth_method: session.spec.auth?.clientSecret === undefined ? "none" : "client_secret_basic",
  ...(session.spec.auth?.scope === undefined ? {} : { scope: session.spec.auth.scope })
})

const configured = (session: Session): OAuthClientInformationMixed | undefined => {
  const { clientId, clientSecret, issuer } = session.spec.auth ?? {}
  if (clientId === undefined) return undefined
  return {
    client_id: clientId,
    ...(clientSecret === undefined ? {} : { client_secret: ServerSpec.plain(clientSecret) }),
    ...(issuer === undefined ? {} : { issuer })
  }
}

/** A login by a person at a browser. */
const person = (session: Session, page: Page): OAuthClientProvider => {
  const { kept, spec } = session
  let verifier = ""
  return {
    redirectUrl: page.redirect,
    clientMetadata: metadata(session, [page.redirect]),
    ...(spec.auth?.clientMetadataUrl === undefined ? {} : { clientMetadataUrl: spec.auth.clientMetadataUrl }),
    state: () => page.state,
    clientInformation: () => configured(session) ?? kept.client,
    saveClientInformation: (client) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: page.shown,
    saveCodeVerifier: (given) => {
      verifier = given
    },
    codeVerifier: () => verifier,
    invalidateCredentials: (scope) => {
      if (scope === "all" || scope === "tokens") kept.tokens = undefined
      if (scope === "all" || scope === "client") kept.client = undefined
    }
  }
}

/** A login of this program itself, with nobody at a screen. */
const machine = (session: Session): OAuthClientProvider => ({
  redirectUrl: undefined,
  clientMetadata: metadata(session, []),
  clientInformation: () => configured(session),
  tokens: () => undefined,
  saveTokens: (tokens) => {
    session.kept.tokens = tokens
  },
  redirectToAuthorization: () => undefined,
  saveCodeVerifier: () => undefined,
  codeVerifier: () => "",
  prepareTokenRequest: (scope) =>
    new URLSearchParams({ grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) })
})
