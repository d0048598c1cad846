"""Messages that people write each other, mails and chats: cleaned, and looked at for what may not be answered.

`clean` leaves what a message says; `language`, `sensitive` and `unsuitable` say what it is written in and about;
`allowed` makes a set of replies, and `intents` says which of them mean alike.
"""
