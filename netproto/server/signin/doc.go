// Package signin lets people sign in to the dashboard with an account of a provider of OpenID Connect: the authorization code flow with
// PKCE (RFC 7636), state and nonce. go-oidc checks signatures, issuer, audience and times of what the provider says.
//
//	Begin   → an Attempt for the browser's cookie, and the provider's address for the browser
//	Finish  ← the browser comes back with a code; the provider exchanges it for claims → a Person with a name and a role
//
// The provider is asked for its addresses and keys at the first Begin, and not before: the server starts while it is down. Afterwards it is
// asked at each Finish only. An Attempt is kept by the browser alone, so attempts take no memory here.
//
// Nothing that the provider sends is trusted before its signature is checked, and each answer has a size limit and a time limit. Names are
// cut to what the history takes; values of claims beyond a limit are refused. A name without an @ gets the provider's host, so that no
// account has the name of a token.
package signin
